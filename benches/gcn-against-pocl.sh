#!/usr/bin/env bash
# Times GCN kernels compiled by LLVM, in warpjit and (their OpenCL sources) in POCL, one after the other, and prints a table.
# usage: benches/gcn-against-pocl.sh FOLDER [THREADS [RUNS [KERNEL...]]]
#   FOLDER holds NAME.launch.toml, host.c, spec.txt and the data (../shared/bench/gcn of the project's machines).
# Needs gcc, pocl-opencl-icd and ocl-icd-opencl-dev, and target/release/warpjit (cargo build --release).
set -eu
folder=$1; threads=${2:-1}; runs=${3:-5}; shift $(( $# < 3 ? $# : 3 ))
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
cp -r "$folder"/. "$work"; chmod -R u+w "$work"
gcc -O2 -o "$work/host" "$work/host.c" -lOpenCL -lm
[ $# -gt 0 ] || set -- $(basename -a -s .launch.toml "$folder"/*.launch.toml)
warpjit=$(pwd)/target/release/warpjit
echo "| kernel | POCL ms | warpjit ms | ratio |"; echo "|---|---:|---:|---:|"
product=0; count=0
for kernel; do
    pocl=$(cd "$work" && POCL_MAX_PTHREAD_COUNT=$threads ./host spec.txt "$runs" "$kernel" 2>/dev/null |
        awk -v k="$kernel" '$1 == k { print $2 }')
    ours=$("$warpjit" bench ${WARPJIT_FLAGS-} --json --tier jit --threads "$threads" --runs "$runs" "$work/$kernel.launch.toml" |
        sed -n 's/.*"median_ms": *\([0-9.]*\).*/\1/p')
    awk -v k="$kernel" -v p="$pocl" -v o="$ours" 'BEGIN { printf "| %s | %.1f | %.1f | %.2f |\n", k, p, o, p / o }'
    product=$(awk -v s="$product" -v p="$pocl" -v o="$ours" 'BEGIN { print s + log(p / o) }')
    count=$((count + 1))
done
awk -v s="$product" -v n="$count" 'BEGIN { printf "| geometric mean | | | %.2f |\n", exp(s / n) }'
