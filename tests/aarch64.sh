#!/bin/sh
# Builds the workspace for AArch64 and runs its tests under QEMU. The compiler is in a Debian (sid) that this script makes in a folder. It needs
# root, debootstrap, and half an hour for all tests. Packages come from the mirror that this machine's own apt uses; the machine must be a Debian.
#
#   tests/aarch64.sh FOLDER [arguments of `cargo test`; --workspace where there are none]
set -eu
root=$(realpath -m "${1:?a folder for Debian}")
shift
repository=$(realpath "$(dirname "$0")/..")
crates=${CARGO_HOME:-$HOME/.cargo}/registry
target=aarch64-unknown-linux-gnu

# The first http(s) address in apt's sources: sources.list, then *.list (both `deb [options] URI suite ...`), then *.sources (`URIs: URI ...`).
mirror() {
    folder=${APT_SOURCES:-/etc/apt}
    for file in "$folder/sources.list" "$folder"/sources.list.d/*.list "$folder"/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        case $file in
        # A *.sources file has paragraphs, which may say that they are not enabled. Addresses may go on in lines that begin with a blank, and
        # comments may stand anywhere.
        *.sources) awk '
            function end() { if (enabled) printf "%s", found; found = ""; enabled = 1 }
            BEGIN { enabled = 1 }
            /^#/ { next }
            /^[ \t]*$/ { end(); uris = 0; next }
            /^[^ \t]/ {
                field = tolower($0); uris = field ~ /^uris:/
                if (field ~ /^enabled:[ \t]*(no|false|0)/) enabled = 0
                sub(/^[^:]*:/, "")
            }
            uris { found = found $0 "\n" }
            END { end() }' "$file" ;;
        *) awk '$1 == "deb" { sub(/^[ \t]*deb[ \t]+/, ""); sub(/^\[[^]]*\]/, ""); print $1 }' "$file" ;;
        esac
    done | tr -s ' \t' '\n\n' | awk '/^https?:\/\// { print; exit }'
}

if [ ! -e "$root/ready" ]; then
    mirror=$(mirror)
    if [ -z "$mirror" ]; then
        echo "tests/aarch64.sh: no http or https mirror in /etc/apt/sources.list or /etc/apt/sources.list.d; add the Debian mirror to use" >&2
        exit 1
    fi
    debootstrap --variant=minbase --include=ca-certificates sid "$root" "$mirror"
    # Mirrors may stand still for longer than a list is valid.
    echo 'Acquire::Check-Valid-Until "false";' > "$root/etc/apt/apt.conf.d/99valid"
    chroot "$root" sh -euc 'dpkg --add-architecture arm64
        apt-get update
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends rustc cargo gcc \
            gcc-aarch64-linux-gnu libc6-dev-arm64-cross libstd-rust-dev:arm64 qemu-user'
    touch "$root/ready"
fi
cargo fetch --locked --manifest-path "$repository/Cargo.toml"
[ $# -gt 0 ] || set -- --workspace
# What is mounted here is so for this command only.
exec unshare --mount sh -euc '
    root=$1 repository=$2 crates=$3 target=$4
    shift 4
    mkdir -p "$root/warpjit" "$root/cargo/registry" "$root/target"
    mount --bind "$repository" "$root/warpjit"
    mount --bind "$crates" "$root/cargo/registry"
    mount --bind /dev "$root/dev"
    mount --bind /proc "$root/proc"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        CARGO_HOME=/cargo CARGO_TARGET_DIR=/target CARGO_NET_OFFLINE=true CARGO_PROFILE_RELEASE_DEBUG=0 \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        QEMU_LD_PREFIX=/usr/aarch64-linux-gnu CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu" \
        WARPJIT_RANDOM="${WARPJIT_RANDOM:-}" \
        chroot "$root" sh -euc "cd /warpjit; exec cargo test --release --locked --target $target --no-fail-fast \"\$@\"" sh "$@"
' sh "$root" "$repository" "$crates" "$target" "$@"
