#!/usr/bin/env bash
# Builds the HIP programs of this folder and runs them on every card that HIP knows and `warpjit exec` pretends. Prints a line for each:
# card, program, seconds of the first and of the second start, what it says.
#
#   bindings/hsa/clients/run.sh FOLDER [CHIP...]
#
# FOLDER gets the programs. Debian 12 needs: hipcc libamdhip64-dev libhiprtc-builtins5 librocprim-dev librocrand-dev librocsparse-dev
# rocminfo kmod. PROGRAMS chooses some of the programs ("vector_add atomics"). Exit status: 0 if all were right.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
folder=${1:?a folder}
shift
chips=("$@")
[ ${#chips[@]} -gt 0 ] || chips=(polaris10 fiji vega10 vega20)
warpjit=${WARPJIT:-$root/target/release/warpjit}
if [ -n "${PROGRAMS:-}" ]; then
    read -ra programs <<<"$PROGRAMS"
else
    programs=()
    for source in "$here"/*.hip.cpp; do programs+=("$(basename "$source" .hip.cpp)"); done
fi

mkdir -p "$folder"
for program in "${programs[@]}"; do
    built=$folder/$program
    [ "$built" -nt "$here/$program.hip.cpp" ] && [ "$built" -nt "$here/check.hpp" ] && continue
    libraries=()
    case $program in
    rocrand) libraries=(-lrocrand) ;;
    rocsparse | rocsparse_formats | sparse_start) libraries=(-lrocsparse) ;;
    esac
    echo "building $program" >&2
    hipcc -w -std=c++17 -O2 --offload-arch=gfx803 --offload-arch=gfx900 --offload-arch=gfx906 \
        "$here/$program.hip.cpp" -o "$built" "${libraries[@]}" || exit 1
done
cd "$folder" || exit 1
status=0
for chip in "${chips[@]}"; do
    cache=$(mktemp -d)
    said=$("$warpjit" exec --chip "$chip" --cache-dir "$cache" -- rocminfo 2>err.log | grep -m1 'amdgcn-amd-amdhsa') || {
        said="FAILED: $(tail -1 err.log)"
        status=1
    }
    printf '%-10s %-15s %s\n' "$chip" rocminfo "$(echo $said)"
    for program in "${programs[@]}"; do
        times=
        for _ in cold warm; do
            start=$(date +%s.%N)
            if ! said=$(timeout 900 "$warpjit" exec --chip "$chip" --cache-dir "$cache" -- "./$program" 2>err.log | tail -1); then
                said="FAILED: $said $(tail -1 err.log)"
                status=1
            fi
            times+=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%7.1f s", b - a }')
        done
        printf '%-10s %-15s%s  %s\n' "$chip" "$program" "$times" "$said"
    done
    rm -rf "$cache"
done
exit $status
