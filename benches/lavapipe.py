#!/usr/bin/env python3
"""Measures Mesa's lavapipe on what benches/sampling.py measures: fragment shaders, 1024 x 1024 pixels, one sample a pixel.

    benches/lavapipe.py FOLDER [RUNS]

Needs a C compiler with libvulkan-dev, glslangValidator, and mesa-vulkan-drivers. One thread, vectors of 256 bits; prints milliseconds of a
draw, of the processor's time, and nanoseconds of a sample: the time less that of `none`.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys

SIZE = 1024
LEVELS = 11
HERE = pathlib.Path(__file__).resolve().parent
ICD = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"

VERTEX = """#version 450
layout(location = 0) in vec2 place;
layout(location = 0) out vec2 uv;
layout(location = 1) out vec3 normal;
void main() {
    vec2 unit = place * 0.5 + 0.5;
    uv = unit * SCALE;
    normal = vec3(unit - 0.5, 0.7);
    gl_Position = vec4(place, 0.0, 1.0);
}
"""
HEAD = """#version 450
layout(location = 0) in vec2 uv;
layout(location = 1) in vec3 normal;
layout(binding = 0) uniform sampler2D image;
layout(location = 0) out vec4 colour;
void main() {
"""
BODIES = {
    "none": "colour = vec4(uv, uv);",
    "sample": "colour = texture(image, uv);",
    "fetch": "colour = texelFetch(image, ivec2(uv), 0);",
    "lit": """
    vec4 texel = texture(image, uv);
    float light = max(dot(normalize(normal), vec3(0.36, 0.48, 0.8)), 0.0);
    colour = vec4(texel.rgb * (0.2 + 0.8 * light), texel.a);""",
}
# Name, body, magnification and minification filter, filter between levels, highest level.
CASES = [
    ("none", "none", 0, 0, 0),
    ("nearest", "sample", 0, 0, 0),
    ("bilinear", "sample", 1, 0, 0),
    ("trilinear", "sample", 1, 1, LEVELS),
    ("fetch", "fetch", 0, 0, 0),
    ("lit", "lit", 1, 1, LEVELS),
]


def prepare(folder):
    """Makes the program that draws and a scene for each case."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = folder / "draw"
    subprocess.run(["cc", "-O2", "-o", draw, HERE.parent / "tests/radv/draw.c", "-lvulkan"], check=True)
    dice = random.Random(1)
    texels = sum(max(SIZE >> level, 1) ** 2 for level in range(LEVELS))
    (folder / "texels.bin").write_bytes(dice.randbytes(4 * texels))
    corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    (folder / "vertices.bin").write_bytes(b"".join(struct.pack("<2f", *corner) for corner in corners))
    (folder / "indices.bin").write_bytes(struct.pack("<6I", 0, 1, 2, 0, 2, 3))

    def shader(name, stage, text):
        source = folder / f"{name}.{stage}"
        source.write_text(text)
        command = ["glslangValidator", "-V", source, "-o", folder / f"{name}.{stage}.spv"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return folder / f"{name}.{stage}.spv"

    for name, body, linear, mip, most in CASES:
        scale = "1013.0" if body == "fetch" else "1.3"
        vertex = shader(name, "vert", VERTEX.replace("SCALE", scale))
        fragment = shader(name, "frag", HEAD + BODIES[body] + "\n}\n")
        lines = [
            f"size {SIZE} {SIZE}",
            f"vert {vertex}",
            f"frag {fragment}",
            f"vertices 8 {folder / 'vertices.bin'}",
            "attribute 0 103 0",
            f"indices {folder / 'indices.bin'}",
            "count 6 1",
            "cull 0",
            f"target 109 16 {folder / 'target'}",
            # A view of two dimensions, RGBA8; repeated.
            f"texture 0 1 37 4 {SIZE} {SIZE} 1 1 {LEVELS} {folder / 'texels.bin'} "
            f"{linear} {linear} {mip} 0 0 0 0 0 0 0.0 0.0 {most}.0",
        ]
        (folder / f"{name}.scene").write_text("\n".join(lines) + "\n")


def measure(folder, name, runs, bits=256):
    """Milliseconds of a draw, and of the processor's time."""
    environment = os.environ | {"VK_ICD_FILENAMES": ICD, "LP_NUM_THREADS": "1", "LP_NATIVE_VECTOR_WIDTH": str(bits)}
    command = [folder / "draw", "time", folder / f"{name}.scene", str(runs)]
    for _ in range(40):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        # Mesa 22.3.6 writes beyond a block of its own and often aborts in `fetch`.
        if done.returncode == 0:
            return map(float, done.stdout.split())
    sys.exit(f"{name}: {done.stderr}")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    runs = sys.argv[2] if len(sys.argv) > 2 else "20"
    prepare(folder)
    none = 0
    for name, *_ in CASES:
        clock, work = measure(folder, name, runs)
        if name == "none":
            none = work
        samples = (work - none) * 1e6 / SIZE**2
        print(f"{name:10} {clock:8.2f} ms {work:8.2f} ms of the processor {samples:8.2f} ns a sample", flush=True)


if __name__ == "__main__":
    main()
