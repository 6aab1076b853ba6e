#!/usr/bin/env bash
# Times of whole programs beside those of Mesa's own CPU drivers (lavapipe, llvmpipe), two threads each, as a Markdown table: seconds of the
# first and of the best of three further starts. OpenCL has no such driver.
#
#   bindings/amdgpu/clients/compare.sh FOLDER [CHIP]
#
# FOLDER has been prepared by run.sh. Clients that lavapipe judges do not ask it here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
folder=${1:?a folder}
chip=${2:-polaris10}
warpjit=${WARPJIT:-$root/target/release/warpjit}
cd "$folder" || exit 1
lavapipe=/usr/share/vulkan/icd.d/lvp_icd.$(uname -m).json

# Seconds of a command's first and best later start, or "-" if it fails.
times() {
    local first='' best='' start seconds
    for _ in 1 2 3 4; do
        start=$(date +%s.%N)
        "$@" >/dev/null 2>&1 || { echo "- | -"; return; }
        seconds=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')
        if [ -z "$first" ]; then
            first=$seconds
        elif [ -z "$best" ] || awk -v a="$seconds" -v b="$best" 'BEGIN { exit !(a < b) }'; then
            best=$seconds
        fi
    done
    echo "$first | $best"
}

echo "| program | $chip, cold | warm | Mesa's CPU driver, cold | warm |"
echo "| --- | --- | --- | --- | --- |"
for client in "$here"/*.py; do
    cache=$(mktemp -d)
    ours=$(times "$warpjit" exec --chip "$chip" --threads 2 --cache-dir "$cache/code" -- venv/bin/python "$client" "$cache/picture.npy" 4)
    theirs=$(times env VK_ICD_FILENAMES="$lavapipe" LP_NUM_THREADS=2 MESA_SHADER_CACHE_DIR="$cache/mesa" \
        venv/bin/python "$client" "$cache/picture.npy" 4)
    rm -rf "$cache"
    echo "| $(basename "$client" .py) | $ours | $theirs |"
done
