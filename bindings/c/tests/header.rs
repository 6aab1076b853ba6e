//! `include/warpjit.h` is what cbindgen makes of the Rust source. To write it anew: `WARPJIT_BLESS=1 cargo test -p warpjit-c --test header`.

use std::fs;
use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

/// In the order in which a program needs them.
const FILES: [&str; 21] = [
    "version",
    "status",
    "handle",
    "text",
    "callback",
    "config",
    "device",
    "memory",
    "words",
    "stage",
    "batch",
    "program",
    "code",
    "program_cache",
    "launch",
    "textures",
    "engine",
    "report",
    "saved",
    "prepared",
    "queue",
];

/// Macros that programs compare with what the library says at run time.
fn versions() -> String {
    let (major, minor, patch) =
        (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH"));
    format!(
        "\n/** The version of this header. */\n\
         #define WARPJIT_VERSION_MAJOR {major}\n\
         #define WARPJIT_VERSION_MINOR {minor}\n\
         #define WARPJIT_VERSION_PATCH {patch}\n\
         #define WARPJIT_VERSION_STRING \"{major}.{minor}.{patch}\"\n\
         /** As one number, for comparisons. */\n\
         #define WARPJIT_VERSION \\\n    \
             (WARPJIT_VERSION_MAJOR * 1000000 + WARPJIT_VERSION_MINOR * 1000 + WARPJIT_VERSION_PATCH)\n"
    )
}

fn header() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        include_guard: Some("WARPJIT_H".into()),
        documentation_style: DocumentationStyle::Doxy,
        style: Style::Both,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(String::from).into(),
        header: Some(fs::read_to_string(folder.join("header.txt")).unwrap()),
        after_includes: Some(versions()),
        ..Config::default()
    };
    let mut builder = Builder::new().with_config(config);
    for file in FILES.iter().chain(&["vp1"]) {
        builder = builder.with_src(folder.join(format!("src/{file}.rs")));
    }
    let mut bytes = Vec::new();
    builder.generate().expect("the source can be read").write(&mut bytes);
    // Names of types in comments are written as C has them.
    String::from_utf8(bytes).unwrap().replace('`', "'")
}

#[test]
fn header_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/warpjit.h");
    let header = header();
    if std::env::var_os("WARPJIT_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &header).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == header, "include/warpjit.h is not what the source gives; see the test's comment");
}

/// Each exported function of the source is in the header.
#[test]
fn all_functions_are_declared() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = fs::read_to_string(folder.join("include/warpjit.h")).unwrap();
    let mut count = 0;
    for file in fs::read_dir(folder.join("src")).unwrap() {
        let source = fs::read_to_string(file.unwrap().path()).unwrap();
        for (at, _) in source.match_indices("#[unsafe(no_mangle)]") {
            let rest = source[at..].split("fn ").nth(1).unwrap();
            let name = rest.split('(').next().unwrap();
            assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
            count += 1;
        }
    }
    assert!(count > 120, "only {count} functions were found");
}
