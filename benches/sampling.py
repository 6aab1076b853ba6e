#!/usr/bin/env python3
"""Writes launch files that measure texture sampling: fragment programs of a Fermi chip, 1024 x 1024 pixels, one sample a pixel.
`lit` is a textured, lit, trilinear one. benches/lavapipe.py has the same for Mesa's lavapipe.

    benches/sampling.py FOLDER WARPJIT
    warpjit bench --suite FOLDER --tier jit --host avx2 --threads 1 --runs 5

WARPJIT is the command, which assembles the programs. `none` samples nothing: what the others need beyond its time is the samples'.
"""

import pathlib
import random
import subprocess
import sys

SIZE = 1024

# Word 0 of texture headers, bytes of an element (of BC: of 4 x 4 texels).
FORMATS = {
    "rgba8": 0x2C692488,
    "bc1": 0x2C6924A4,
    "rgba16f": 0x2C6BFFC3,
    "rgba32f": 0x2C6BFFC1,
}
# Word 1 of samplers.
FILTERS = {"nearest": 0x51, "bilinear": 0x62, "trilinear": 0xE2}

PLACE = """interp pass f32 $r0 a[0x80] 0x0 0x0
interp pass f32 $r1 a[0x84] 0x0 0x0
"""
BODIES = {
    "sample": PLACE + "tex p lauto all dfp $r0:$r1:$r2:$r3 t2d $t0 $s0 $r0:$r1 ()\n",
    "fetch": PLACE
    + "cvt rzi u32 $r0 f32 $r0\ncvt rzi u32 $r1 f32 $r1\n"
    + "texfetch p lzero all $r0:$r1:$r2:$r3 t2d $t0 $s0 $r0:$r1 ()\n",
    "lit": PLACE
    + "interp pass f32 $r5 a[0x88] 0x0 0x0\ninterp pass f32 $r6 a[0x8c] 0x0 0x0\ninterp pass f32 $r7 a[0x90] 0x0 0x0\n"
    + "tex p lauto all dfp $r0:$r1:$r2:$r3 t2d $t0 $s0 $r0:$r1 ()\n"
    + "mul ftz rn f32 $r8 $r5 $r5\nfma ftz rn f32 $r8 $r6 $r6 $r8\nfma ftz rn f32 $r8 $r7 $r7 $r8\nrsqrt f32 $r8 $r8\n"
    + "mul ftz rn f32 $r9 $r5 c0[0x0]\nfma ftz rn f32 $r9 $r6 c0[0x4] $r9\nfma ftz rn f32 $r9 $r7 c0[0x8] $r9\n"
    + "mul ftz rn f32 $r9 $r9 $r8\nmax ftz f32 $r9 $r9 0x0\n"
    + "mul ftz rn f32 $r9 $r9 c0[0xc]\nadd ftz rn f32 $r9 $r9 c0[0x10]\n"
    + "mul ftz rn f32 $r0 $r0 $r9\nmul ftz rn f32 $r1 $r1 $r9\nmul ftz rn f32 $r2 $r2 $r9\n",
    "none": PLACE + "mov b32 $r2 $r0\nmov b32 $r3 $r1\n",
}


def launch(header, sampler, step):
    return f"""[program]
isa = "fermi"
chip = "gf100"
file = "code.bin"
format = "raw"
registers = 16

[launch]
type = "fragment"

[fragments]
rect = [0, 0, {SIZE}, {SIZE}]

[[input]]
at = 0x80
words = 5
per = "plane"
f32 = [0.0, {step}, 0.0, 0.0, 0.0, {step}, -0.5, {1 / SIZE}, 0.0, -0.5, 0.0, {1 / SIZE}, 0.7, 0.0, 0.0]

[[const]]
index = 0
f32 = [0.36, 0.48, 0.8, 0.8, 0.2]

[[buffer]]
name = "texels"
address = 0x10000000
data = "../texels.bin"
access = "r"

[[buffer]]
name = "colour"
bytes = {SIZE * SIZE * 16}

[[output]]
register = "r0"
words = 4
buffer = "colour"

[[texture]]
slot = 0
words = [{header:#x}, 0x10000000, 0xc1005000, 0x00300000, {0x80000000 | SIZE:#x}, {0xa0010000 | SIZE:#x}, 0x03000000, 0x000000a0]

[[sampler]]
slot = 0
words = [0x00026000, {sampler:#x}, 0x00f00000, 0x0, 0x0, 0x0, 0x0, 0x0]
"""


def prepare(folder, warpjit):
    """Writes them all."""
    folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(1)
    # Halves and floats below 1 whichever bytes are read, and no NaN; all levels of the largest format.
    word = lambda: dice.randrange(1 << 16) | dice.randrange(0x3400, 0x3C00) << 16
    block = b"".join(word().to_bytes(4, "little") for _ in range(1 << 16))
    (folder / "texels.bin").write_bytes(block * 96)

    def write(name, body, header, sampler, step):
        to = folder / name
        to.mkdir(exist_ok=True)
        (to / "launch.toml").write_text(launch(header, sampler, step))
        (to / "source.txt").write_text(BODIES[body] + "exit\n")
        command = [warpjit, "asm", "--chip", "gf100", to / "source.txt", "-o", to / "code.bin"]
        subprocess.run(command, check=True)

    write("none", "none", FORMATS["rgba8"], FILTERS["nearest"], 1 / SIZE)
    for form, header in FORMATS.items():
        for filtered, sampler in FILTERS.items():
            # Between two levels.
            write(f"{form}-{filtered}", "sample", header, sampler, 1.3 / SIZE)
        write(f"{form}-lit", "lit", header, FILTERS["trilinear"], 1.3 / SIZE)
        write(f"{form}-fetch", "fetch", header, FILTERS["nearest"], 0.99)


if __name__ == "__main__":
    prepare(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
