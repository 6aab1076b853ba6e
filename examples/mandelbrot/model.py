#!/usr/bin/env python3
"""What rows of the picture must hold, in plain Python: a model of the arithmetic, not of the machine.

usage: model.py          writes palette.bin, row_150.bin, row_384.bin
       model.py --check FILE   compares a whole picture of RGBA words, slowly
"""
import struct
import sys
from pathlib import Path

WIDTH, HEIGHT, ITERATIONS = 1024, 768, 256
LEFT, TOP, STEP = -2.2, 1.2, 0.003125
HERE = Path(__file__).parent


def f32(x):
    """Rounds to binary32 as G80 does: to nearest, denormals to zero."""
    x = struct.unpack("<f", struct.pack("<f", x))[0]
    return x if abs(x) >= 2.0**-126 else x * 0.0


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def palette():
    stops = [(0.0, (0, 7, 100)), (0.16, (32, 107, 203)), (0.42, (237, 255, 255)),
             (0.6425, (255, 170, 0)), (0.8575, (40, 8, 30)), (1.0, (0, 7, 100))]
    colors = []
    for i in range(1024):
        at = i / 1024
        (a, low), (b, high) = next(p for p in zip(stops, stops[1:]) if p[0][0] <= at < p[1][0])
        t = (at - a) / (b - a)
        t = t * t * (3 - 2 * t)
        r, g, b = (round(x + (y - x) * t) for x, y in zip(low, high))
        colors.append(r | g << 8 | b << 16 | 0xFF << 24)
    return colors


def pixel(x, y, colors):
    # A double holds every product and sum of two f32 well enough that rounding twice does no harm.
    step = f32(STEP)
    cx = f32(f32(x * step) + f32(LEFT))
    cy = f32(f32(TOP) - f32(y * step))
    zx = zy = 0.0
    count = 0
    while True:
        xx, yy = f32(zx * zx), f32(zy * zy)
        size = f32(xx + yy)
        if size > 65536.0:
            break
        xy = f32(zx * zy)
        zy = f32(f32(xy + xy) + cy)
        zx = f32(f32(xx - yy) + cx)
        count += 1
        if count >= ITERATIONS:
            return 0xFF000000
    log = f32(bits(size) - bits(1.0))
    fraction = bits(log) - bits(2.0**27) >> 15
    level = (count << 8) - fraction + 256
    return colors[level >> 4 & 1023]


def row(y, colors):
    return struct.pack(f"<{WIDTH}I", *(pixel(x, y, colors) for x in range(WIDTH)))


def main():
    colors = palette()
    if sys.argv[1:2] == ["--check"]:
        picture = Path(sys.argv[2]).read_bytes()
        bad = [y for y in range(HEIGHT) if picture[y * WIDTH * 4:][:WIDTH * 4] != row(y, colors)]
        sys.exit(f"rows {bad} differ" if bad else 0)
    (HERE / "palette.bin").write_bytes(struct.pack("<1024I", *colors))
    for y in (150, 384):
        (HERE / f"row_{y}.bin").write_bytes(row(y, colors))


main()
