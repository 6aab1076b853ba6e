//! The examples in C and C++, built with the system's compilers and run, with AddressSanitizer where the compiler has it. They find the
//! library in a tree that `install.sh` has installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use draw::families;
use draw::picture::Picture;
use draw::renderer::Renderer;
use draw::scene::Scene;
use draw::texture::Texture;
use warpjit_runtime::{Config, Engine};

/// Faults of guests are signals, which compiled code needs for itself.
const ASAN_OPTIONS: &str =
    "allow_user_segv_handler=1:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:detect_leaks=1";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a command that must end well; gives what it prints.
fn run(command: &mut Command) -> String {
    let output = command
        .env("ASAN_OPTIONS", ASAN_OPTIONS)
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{errors}", output.status);
    out
}

/// Whether the machine has a program.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The installed tree.
fn installed() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    TREE.get_or_init(|| {
        let tree = folder("installed");
        // The libraries that cargo has built beside this test.
        let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        run(Command::new(repository().join("bindings/c/install.sh")).arg(&tree).env("WARPJIT_BUILT", built));
        tree
    })
}

/// Flags for AddressSanitizer, if programs with it can be built and run here.
fn sanitizer(compiler: &str) -> &'static [&'static str] {
    const FLAGS: &[&str] = &["-fsanitize=address", "-fno-omit-frame-pointer"];
    let folder = folder(&format!("sanitizer-{compiler}"));
    fs::write(folder.join("empty.c"), "int main(void) { return 0; }\n").unwrap();
    let program = folder.join("empty");
    let built =
        Command::new(compiler).args(FLAGS).arg("-o").arg(&program).arg(folder.join("empty.c")).output();
    let works = built.is_ok_and(|output| output.status.success())
        && Command::new(&program)
            .env("ASAN_OPTIONS", ASAN_OPTIONS)
            .output()
            .is_ok_and(|output| output.status.success());
    if works { FLAGS } else { &[] }
}

/// Builds a program with the shared library.
fn build(compiler: &str, flags: &[&str], sources: &[&str], name: &str) -> PathBuf {
    let program = folder(&format!("built-{name}")).join(name);
    let lib = installed().join("lib");
    run(Command::new(compiler)
        .args(["-O1", "-g", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        .args(sanitizer(compiler))
        .args(flags)
        .args(sources.iter().map(|source| repository().join("examples").join(source)))
        .arg("-I")
        .arg(installed().join("include"))
        .arg("-L")
        .arg(&lib)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .args(["-lwarpjit", "-lm", "-o"])
        .arg(&program));
    program
}

fn saxpy() -> PathBuf {
    repository().join("tests/corpus/gcn/saxpy")
}

#[test]
fn a_c_program_runs_a_binary() {
    let program = build("cc", &["-std=c11"], &["c/run.c"], "run");
    let out = run(Command::new(program).arg(saxpy()));
    assert!(out.contains("chip fiji") && out.contains("kernel saxpy") && out.contains("ok:"), "{out}");
}

#[test]
fn the_static_library_links_alone() {
    let program = folder("built-static").join("run");
    let config = fs::read_to_string(installed().join("lib/pkgconfig/warpjit.pc")).unwrap();
    let libs = config.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    run(Command::new("cc")
        .arg(repository().join("examples/c/run.c"))
        .arg("-I")
        .arg(installed().join("include"))
        .arg(installed().join("lib/libwarpjit.a"))
        .args(libs.split_whitespace())
        .arg("-o")
        .arg(&program));
    assert!(run(Command::new(program).arg(saxpy())).contains("ok:"));
}

#[test]
fn the_program_in_the_readme_runs() {
    let text = fs::read_to_string(repository().join("bindings/c/README.md")).unwrap();
    let source = text.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let path = folder("readme").join("program.c");
    fs::write(&path, source).unwrap();
    // An absolute path stays as it is.
    let program = build("cc", &["-std=c11"], &[path.to_str().unwrap()], "readme-program");
    assert_eq!(run(&mut Command::new(program)), "9\n");
}

const SIZE: [u32; 2] = [160, 120];

fn read_png(path: &Path) -> Picture {
    let decoder = png::Decoder::new(std::io::BufReader::new(fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let (width, height) = (reader.info().width, reader.info().height);
    let mut picture = Picture::new(width, height, [0; 4]);
    reader.next_frame(picture.pixels.as_flattened_mut()).unwrap();
    picture
}

/// The card draws what the Rust example draws, before and after its texture is changed and its state is restored.
#[test]
fn the_card_draws_as_the_rust_example() {
    let sources = [
        "card/main.cpp",
        "card/card.cpp",
        "card/driver.cpp",
        "card/scene.cpp",
        "card/raster.cpp",
        "card/png.cpp",
    ];
    let program = build("c++", &["-std=c++17", "-ffp-contract=off"], &sources, "card");
    let pictures = folder("pictures");
    run(Command::new(program).arg(repository().join("examples/draw/programs")).arg(&pictures).args([
        "2",
        &SIZE[0].to_string(),
        &SIZE[1].to_string(),
    ]));

    let engine = Engine::new(Config::default()).unwrap();
    let mut scene = Scene::new();
    for number in 0..2 {
        if number == 1 {
            scene.textures[1] = Texture::tiles(256);
        }
        for family in families::NAMES {
            let mut renderer = Renderer::new(families::new(family, &engine).unwrap(), &scene).unwrap();
            let expected = renderer.frame(&scene, number, SIZE).unwrap().0;
            let picture = read_png(&pictures.join(format!("{family}_{number:04}.png")));
            assert_eq!([picture.width, picture.height], SIZE);
            let difference = picture.difference(&expected);
            assert!(picture.pixels == expected.pixels, "{family} {number}: {difference:?}");
        }
    }
}

#[test]
fn cmake_and_pkg_config_find_the_installed_library() {
    if has("pkg-config") {
        let path = installed().join("lib/pkgconfig");
        let flags = run(Command::new("pkg-config")
            .args(["--cflags", "--libs", "warpjit"])
            .env("PKG_CONFIG_PATH", path));
        assert!(flags.contains("-lwarpjit") && flags.contains("include"), "{flags}");
    }
    if has("cmake") {
        let built = folder("cmake");
        run(Command::new("cmake")
            .arg("-S")
            .arg(repository().join("examples/c"))
            .arg("-B")
            .arg(&built)
            .arg(format!("-DCMAKE_PREFIX_PATH={}", installed().display())));
        run(Command::new("cmake").arg("--build").arg(&built));
        assert!(run(Command::new(built.join("run")).arg(saxpy())).contains("ok:"));
    }
}
