#!/usr/bin/env python3
"""Compares texture sampling with Mesa's lavapipe in one run: what benches/sampling.py and benches/lavapipe.py measure, in turn.

    benches/against_lavapipe.py FOLDER WARPJIT [ROUNDS]

Needs what lavapipe.py needs. One thread each; ours on this host's vectors and with `--host avx2`, RGBA8. Least times of all rounds:
lavapipe's of the processor (with vectors of 256 and, in brackets, 512 bits), ours by the clock. `frame` is a whole 1024 x 1024 batch in ms,
`sample` the nanoseconds of a sample: the time less that of the program that samples nothing.
"""

import json
import pathlib
import subprocess
import sys

import lavapipe
import sampling

NAMES = {"none": "none", "lit": "rgba8-lit", **{name: f"rgba8-{name}" for name in ["nearest", "bilinear", "trilinear", "fetch"]}}
WAYS = {"native": [], "avx2": ["--host", "avx2"]}


def ours(warpjit, folder, name, way):
    """The least milliseconds of some runs."""
    command = [warpjit, "bench", "--json", "--no-cache", "--tier", "jit", "--threads", "1", "--runs", "5", *WAYS[way]]
    done = subprocess.run([*command, folder / NAMES[name] / "launch.toml"], check=True, capture_output=True, text=True)
    return min(json.loads(done.stdout)["runs_ms"])


def main():
    folder, warpjit = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    lavapipe.prepare(folder / "lavapipe")
    sampling.prepare(folder / "sampling", warpjit)
    least = {}

    def note(name, column, time):
        least[name, column] = min(time, least.get((name, column), time))

    for _ in range(rounds):
        for name in NAMES:
            for bits in [256, 512]:
                _, work = lavapipe.measure(folder / "lavapipe", name, 6, bits)
                note(name, bits, work)
            for way in WAYS:
                note(name, way, ours(warpjit, folder / "sampling", name, way))
    print("| | lavapipe, frame | sample | native, frame | sample | ratio | AVX2, frame | sample | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in NAMES:
        frame = lambda column: least[name, column]
        sample = lambda column: (frame(column) - least["none", column]) * 1e6 / sampling.SIZE**2
        cells = [name, f"{frame(256):.1f} ({frame(512):.1f})", f"{sample(256):.1f}"]
        for way in WAYS:
            cells += [f"{frame(way):.1f}", f"{sample(way):.1f}", f"{frame(256) / frame(way):.2f}"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
