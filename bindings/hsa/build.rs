//! Gives the library its name (SONAME) and its symbols their version, ROCR_1.
//!
//! Rust links such a library with a version script of its own, which names the symbols and gives them no version, and linkers take one
//! script only where symbols have none. So the compiler driver finds a small script where it looks for the linker: it calls the linker with
//! our version script in place of Rust's. Where that is not possible (no shell, another driver), the library has symbols without versions:
//! it works all the same, and the loader warns.

use std::path::Path;
use std::{env, fs};

/// What linkers are called by drivers (`-fuse-ld=NAME`).
const LINKERS: [&str; 5] = ["ld", "ld.bfd", "ld.gold", "ld.mold", "ld.lld"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=rocr.map");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libhsa-runtime64.so.1");
    #[cfg(unix)]
    if let Err(error) = wrap_linkers() {
        println!("cargo:warning=symbols have no versions: {error}");
    }
}

#[cfg(unix)]
fn wrap_linkers() -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let variable = |name| env::var(name).map_err(std::io::Error::other);
    let (out, source) = (variable("OUT_DIR")?, variable("CARGO_MANIFEST_DIR")?);
    let map = Path::new(&source).join("rocr.map");
    let folder = Path::new(&out).join("ld");
    fs::create_dir_all(&folder)?;
    // The linker itself is the first of its name, or of the usual one, that is not this script.
    let script = format!(
        r#"#!/bin/sh
own='{folder}'
name=${{0##*/}}
found=
for wanted in "$name" ld.bfd ld ld.lld ld.mold; do
    IFS=:
    for place in $PATH; do
        if [ "$place" != "$own" ] && [ -x "$place/$wanted" ]; then found=$place/$wanted; break 2; fi
    done
done
unset IFS
[ -n "$found" ] || {{ echo "no linker $name in PATH" >&2; exit 127; }}
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    case $argument in
        --version-script=*) argument='--version-script={map}' ;;
        --no-undefined-version) continue ;;
    esac
    set -- "$@" "$argument"
done
exec "$found" "$@"
"#,
        folder = folder.display(),
        map = map.display(),
    );
    for name in LINKERS {
        let path = folder.join(name);
        fs::write(&path, &script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    println!("cargo:rustc-cdylib-link-arg=-B{}", folder.display());
    // Rust's own linker is found without a look at the folder.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    Ok(())
}
