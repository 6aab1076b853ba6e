//! The examples in C and C++, built with the system's compilers and run, with AddressSanitizer where the compiler has it. They find the
//! library in a tree that `install.sh` has installed. Where a tool is missing, a test says so and checks what it can.

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

/// Whether the machine has a program. If not, a test that needs it says so.
fn has(program: &str) -> bool {
    let works = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("{program} is not installed: what needs it is not tested");
    }
    works
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
    if !works {
        eprintln!("{compiler} has no AddressSanitizer: programs are tested without");
    }
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
    if !has("cc") {
        return;
    }
    let program = build("cc", &["-std=c11"], &["c/run.c"], "run");
    let out = run(Command::new(program).arg(saxpy()));
    assert!(out.contains("chip fiji") && out.contains("kernel saxpy") && out.contains("ok:"), "{out}");
}

#[test]
fn the_static_library_links_alone() {
    let config = fs::read_to_string(installed().join("lib/pkgconfig/warpjit.pc")).unwrap();
    let libs = config.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    if !has("cc") {
        return;
    }
    let program = folder("built-static").join("run");
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
    if !has("cc") {
        return;
    }
    let path = folder("readme").join("program.c");
    fs::write(&path, source).unwrap();
    // An absolute path stays as it is.
    let program = build("cc", &["-std=c11"], &[path.to_str().unwrap()], "readme-program");
    assert_eq!(run(&mut Command::new(program)), "9\n");
}

/// A C program that has signal handlers of its own, forks, and uses handles wrongly.
#[test]
fn a_program_with_handlers_of_its_own() {
    if !has("cc") {
        return;
    }
    let source = repository().join("bindings/c/tests/handlers.c");
    let flags = ["-std=c11", "-D_GNU_SOURCE"];
    let program = build("cc", &flags, &[source.to_str().unwrap()], "handlers");
    assert_eq!(run(&mut Command::new(program)), "all is well\n");
}

/// An exception that leaves a callback ends the process, and goes no further.
#[test]
fn an_exception_in_a_callback_aborts() {
    use std::os::unix::process::ExitStatusExt;
    if !has("c++") {
        return;
    }
    let path = folder("exception").join("exception.cpp");
    let source = "#include <cstdio>\n#include <warpjit.h>\n\
        static void throws(void *, const char *) { throw 1; }\n\
        int main() {\n\
            try { warpjit_isas(throws, nullptr); } catch (...) { std::puts(\"it came through\"); }\n\
            std::puts(\"it went on\");\n\
        }\n";
    fs::write(&path, source).unwrap();
    let program = build("c++", &["-std=c++17"], &[path.to_str().unwrap()], "exception");
    let output = Command::new(program).env("ASAN_OPTIONS", ASAN_OPTIONS).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    // SIGABRT.
    assert_eq!(output.status.signal(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
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
    if !has("c++") {
        return;
    }
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
    let out = run(Command::new(program)
        .arg(repository().join("examples/draw/programs"))
        .arg(&pictures)
        .args(["2", &SIZE[0].to_string(), &SIZE[1].to_string()]));
    // Each card was saved in the middle of a dispatch.
    assert_eq!(out.matches("stopped").count(), 3, "{out}");

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

/// What the installed files say, whether or not there is a tool that reads them.
#[test]
fn the_installed_tree_is_whole() {
    let tree = installed();
    let version = env!("CARGO_PKG_VERSION");
    let link = |name: &str| fs::read_link(tree.join("lib").join(name)).unwrap();
    let soname = format!("libwarpjit.so.{}", version.rsplit_once('.').unwrap().0);
    assert_eq!(link("libwarpjit.so"), Path::new(&soname));
    assert_eq!(link(&soname), PathBuf::from(format!("libwarpjit.so.{version}")));
    let library = fs::read(tree.join("lib").join(&soname)).unwrap();
    let name = format!("{soname}\0");
    assert!(library.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "no soname");
    assert!(fs::read(tree.join("lib/libwarpjit.a")).unwrap().starts_with(b"!<arch>\n"));
    let header = fs::read_to_string(tree.join("include/warpjit.h")).unwrap();
    assert!(header.contains(&format!("#define WARPJIT_VERSION_STRING \"{version}\"")));

    let config = fs::read_to_string(tree.join("lib/pkgconfig/warpjit.pc")).unwrap();
    for line in [&format!("prefix={}", tree.display()), &format!("Version: {version}")] {
        assert!(config.lines().any(|known| known == line), "{line} is not in {config}");
    }
    let targets = fs::read_to_string(tree.join("lib/cmake/warpjit/warpjitConfig.cmake")).unwrap();
    assert!(targets.contains("warpjit::warpjit") && targets.contains(&soname), "{targets}");
    let versions = fs::read_to_string(tree.join("lib/cmake/warpjit/warpjitConfigVersion.cmake")).unwrap();
    assert!(versions.contains(&format!("\"{version}\"")), "{versions}");
    for text in [config, targets, versions] {
        assert!(!text.contains('@'), "something was not filled in: {text}");
    }
}

/// Packagers install into a folder that is not the prefix.
#[test]
fn destdir_comes_before_the_prefix() {
    let (built, to) = (folder("destdir-built"), folder("destdir"));
    for name in ["libwarpjit_c.so", "libwarpjit_c.a"] {
        fs::write(built.join(name), "").unwrap();
    }
    run(Command::new(repository().join("bindings/c/install.sh"))
        .arg("/usr/my place")
        .env("WARPJIT_BUILT", built)
        .env("DESTDIR", &to));
    let config = fs::read_to_string(to.join("usr/my place/lib/pkgconfig/warpjit.pc")).unwrap();
    assert!(config.starts_with("prefix=/usr/my place\n"), "{config}");
    let relative = Command::new(repository().join("bindings/c/install.sh")).arg("usr").output().unwrap();
    assert_eq!(relative.status.code(), Some(2));
}

#[test]
fn pkg_config_finds_the_installed_library() {
    if !has("pkg-config") || !has("cc") {
        return;
    }
    let path = installed().join("lib/pkgconfig");
    let flags = run(Command::new("pkg-config")
        .args(["--cflags", "--libs", "warpjit >= 0.1"])
        .env("PKG_CONFIG_PATH", path));
    let program = folder("built-pkg-config").join("run");
    run(Command::new("cc")
        .arg(repository().join("examples/c/run.c"))
        .args(flags.split_whitespace())
        .args(["-lm", "-o"])
        .arg(&program));
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", installed().join("lib"));
    assert!(run(command.arg(saxpy())).contains("ok:"));
}

/// Builds an example with CMake.
fn cmake(example: &str) -> PathBuf {
    let built = folder(&format!("cmake-{example}"));
    run(Command::new("cmake")
        .arg("-S")
        .arg(repository().join("examples").join(example))
        .arg("-B")
        .arg(&built)
        .arg(format!("-DCMAKE_PREFIX_PATH={}", installed().display())));
    run(Command::new("cmake").arg("--build").arg(&built));
    built
}

#[test]
fn cmake_finds_the_installed_library() {
    if !has("cmake") || !has("cc") || !has("c++") {
        return;
    }
    assert!(run(Command::new(cmake("c").join("run")).arg(saxpy())).contains("ok:"));
    let pictures = folder("cmake-pictures");
    run(Command::new(cmake("card").join("card"))
        .arg(repository().join("examples/draw/programs"))
        .arg(&pictures)
        .args(["1", "32", "24"]));
    assert_eq!(fs::read_dir(pictures).unwrap().count(), 3);
    // A version that this one is not.
    let other = folder("cmake-version");
    fs::write(
        other.join("CMakeLists.txt"),
        "cmake_minimum_required(VERSION 3.16)\nproject(other NONE)\nfind_package(warpjit 99.0 REQUIRED)\n",
    )
    .unwrap();
    let output = Command::new("cmake")
        .arg("-S")
        .arg(&other)
        .arg("-B")
        .arg(other.join("built"))
        .arg(format!("-DCMAKE_PREFIX_PATH={}", installed().display()))
        .output()
        .unwrap();
    assert!(!output.status.success());
}
