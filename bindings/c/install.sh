#!/usr/bin/env bash
# Builds the C library and installs it: install.sh PREFIX
#
# PREFIX/lib        libwarpjit.so with its versions, libwarpjit.a
# PREFIX/include    warpjit.h
# PREFIX/lib/pkgconfig/warpjit.pc
# PREFIX/lib/cmake/warpjit    for find_package(warpjit)
#
# DESTDIR is put before PREFIX where files are written, as packagers expect. WARPJIT_BUILT is a folder with libwarpjit_c.so and
# libwarpjit_c.a that were built already; then nothing is built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ $# -ne 1 ] || [[ $1 != /* ]]; then
    echo "usage: $0 PREFIX (an absolute path)" >&2
    exit 2
fi
prefix=$1
to=${DESTDIR:-}$prefix

cd "$here/../.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
major=${version%%.*}
rest=${version#*.}
minor=${rest%%.*}
# As in build.rs.
if [ "$major" -eq 0 ]; then soname=libwarpjit.so.0.$minor; else soname=libwarpjit.so.$major; fi

built=${WARPJIT_BUILT:-}
if [ -z "$built" ]; then
    cargo build -p warpjit-c --release
    built=${CARGO_TARGET_DIR:-target}/release
fi
# What a program that links the static library needs of the system.
libs=${WARPJIT_SYSTEM_LIBS:--lgcc_s -lutil -lrt -lpthread -lm -ldl -lc}
cmake_libs=$(echo "$libs" | sed 's/-l//g; s/ /;/g')

install -d "$to/lib/pkgconfig" "$to/lib/cmake/warpjit" "$to/include"
install -m 755 "$built/libwarpjit_c.so" "$to/lib/libwarpjit.so.$version"
ln -sf "libwarpjit.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libwarpjit.so"
install -m 644 "$built/libwarpjit_c.a" "$to/lib/libwarpjit.a"
install -m 644 "$here/include/warpjit.h" "$to/include/warpjit.h"
fill() {
    sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|$version|; s|@MAJOR@|$major|g; s|@MINOR@|$minor|g" \
        -e "s|@SONAME@|$soname|; s|@SYSTEM_LIBS@|$libs|; s|@CMAKE_LIBS@|$cmake_libs|" "$1" >"$2"
}
fill "$here/warpjit.pc.in" "$to/lib/pkgconfig/warpjit.pc"
fill "$here/cmake/warpjitConfig.cmake.in" "$to/lib/cmake/warpjit/warpjitConfig.cmake"
fill "$here/cmake/warpjitConfigVersion.cmake.in" "$to/lib/cmake/warpjit/warpjitConfigVersion.cmake"
echo "installed warpjit $version in $to"
