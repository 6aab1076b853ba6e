"""The jobs of graphics.py: what is drawn or dispatched, with which textures, and how closely results must agree."""

import struct

import numpy as np

from layout import Image, Sampler

SMOOTH = dict(type="f32", max_abs=0.02)


class Target:
    """A target: the format that RADV compiles for, what the program then exports, the format that lavapipe draws to.

    `kind`: f32 (words as they are), f16 (compressed, written as floats), pair (compressed, two raw words), depth."""

    def __init__(self, real, kind="f32", exact=(109, 16), channels=4, **how):
        self.real, self.kind, self.exact, self.channels = real, kind, exact, channels
        self.words = {"pair": 2, "depth": 1}.get(kind, 4)
        self.how = how or SMOOTH

    def expected(self, data):
        """What the launch leaves in its rows, from what lavapipe has drawn."""
        if self.kind in ("pair", "depth"):
            return data
        rows = np.frombuffer(data, "<u4").reshape(-1, self.exact[1] // 4)
        out = np.zeros((len(rows), 4), "<u4")
        out[:, : self.channels] = rows[:, : self.channels]
        return out.tobytes()


# RGBA8: compressed halves. Floats of 32 bits as they are.
BYTES = lambda **how: Target((37, 4), "f16", **how)
FLOATS = lambda **how: Target((109, 16), "f32", **how)
UINTS = lambda: Target((107, 16), "f32", (107, 16), type="u32")
INTS = lambda: Target((108, 16), "f32", (108, 16), type="u32")


class Scene:
    def __init__(self, vert=None, frag=None, comp=None, **more):
        self.vert, self.frag, self.comp = vert, frag, comp
        self.width = self.height = 64
        self.defines, self.push, self.cull, self.instances = (), b"", 0, 1
        self.textures, self.images, self.uniforms, self.storage, self.how = {}, {}, {}, {}, {}
        self.targets, self.groups, self.block = [], None, None
        self.attributes, self.vertices, self.stride, self.indices = [], b"", 0, None
        for key, value in more.items():
            assert hasattr(self, key), key
            setattr(self, key, value)
        if self.stride:
            self.vertex_count = len(self.vertices) // self.stride


def wave(width, height, phase=0.0, channels=4, turns=1.0):
    """A soft picture that repeats, 0 to 1."""
    y, x = np.mgrid[0:height, 0:width]
    x, y = (x + 0.5) / width * 2 * np.pi * turns, (y + 0.5) / height * 2 * np.pi * turns
    all_four = [0.5 + 0.4 * np.sin(x + phase), 0.5 + 0.4 * np.cos(y + 2 * phase), 0.5 + 0.3 * np.sin(x + y + phase), 0.6 + 0.3 * np.cos(x - y)]
    return np.stack(all_four[:channels], 2)


def unorm8(picture):
    return np.round(picture * 255).astype("u1")


def chain(size, count, slices=1, convert=unorm8, phase=0.3, channels=4, turns=1.0):
    """Levels of a soft picture; each level has a phase of its own."""
    return [
        np.stack([convert(wave(max(1, size >> n), max(1, size >> n), phase * n + s, channels, turns)) for s in range(slices)])
        for n in range(count)
    ]


def noise(shape, kind="u1", most=256, seed=5):
    return np.random.default_rng(seed).integers(0, most, shape).astype(kind)


def bytes_of(array):
    """Texels of an array [slice][y][x][component] as bytes."""
    return np.ascontiguousarray(array).view("u1").reshape(*array.shape[:3], -1)


def rgba8(size=64, levels=7, layers=1, view=1, fmt=37, **more):
    return Image(view, fmt, (size, size, 1), chain(size, levels, layers, **more), layers)


def directions(size, levels, cubes=1):
    """Cubes that are soft across their edges."""
    def face(n, side, cube):
        v, u = (np.mgrid[0:side, 0:side] + 0.5) * 2 / side - 1
        o = np.ones_like(u)
        x, y, z = [(o, -v, -u), (-o, -v, u), (u, o, v), (u, -o, -v), (u, -v, o), (-u, -v, -o)][n]
        long = np.sqrt(x * x + y * y + z * z)
        return unorm8(0.5 + 0.4 * np.sin(np.stack([x, y, z, x + y], 2) / long[..., None] * (2 + cube)))
    sides = [np.stack([face(n, size >> level, cube) for cube in range(cubes) for n in range(6)]) for level in range(levels)]
    return Image(3 if cubes == 1 else 6, 37, (size, size, 1), sides, 6 * cubes)


def matrix(rows):
    return np.array(rows, "<f4").T.tobytes()  # columns


def turn(ax, ay):
    cx, sx, cy, sy = np.cos(ax), np.sin(ax), np.cos(ay), np.sin(ay)
    return np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]]) @ np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])


def scene_block(ax, ay, distance, shift=(0, 0, 0), repeat=1.0, focal=1.6):
    world = np.eye(4)
    world[:3, :3] = turn(ax, ay)
    # The eye looks along +z from -distance.
    clip = [[focal, 0, 0, 0.01], [0, focal, 0, 0.02], [0, 0, 1.02, distance * 1.02 - 0.3], [0, 0, 1, distance]]
    return matrix(clip) + matrix(world) + struct.pack("<4f", *shift, repeat)


MESH = [(106, 0), (38, 12), (83, 16), (65, 20)]  # f32x3, snorm8x4, f16x2, snorm 2_10_10_10 (A2B10G10R10)


def snorm(value, bits):
    return int(round(value * ((1 << bits - 1) - 1))) & (1 << bits) - 1


def mesh_vertex(position, normal, coord, tangent):
    packed = sum(snorm(t, 10) << 10 * n for n, t in enumerate(tangent)) | 1 << 30
    n = [int(round(c * 127)) for c in normal]
    return struct.pack("<3f4b2eI", *position, *n, 0, *coord, packed)


def cube():
    vertices, indices = b"", []
    for axis in range(3):
        for sign in (-1, 1):
            normal, along, up = np.zeros(3), np.zeros(3), np.zeros(3)
            normal[axis], along[(axis + 1) % 3], up[(axis + 2) % 3] = sign, 1, sign
            at = len(vertices) // 24
            for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)):
                vertices += mesh_vertex(normal + along * (2 * u - 1) + up * (2 * v - 1), normal, (u, v), along)
            indices += [at, at + 1, at + 2, at, at + 2, at + 3]
    return vertices, np.array(indices)


def card(count=1):
    """Upright squares, one behind the other."""
    vertices, indices = b"", []
    for n in range(count):
        z = 0.6 - 0.5 * n
        at = len(vertices) // 24
        for u, v in ((0, 0), (1, 0), (1, 1), (0, 1)):
            vertices += mesh_vertex((1.7 * u - 0.9 + 0.13 * n, 1.8 * v - 0.85 - 0.07 * n, z), (0, 0.6, -0.8), (u + 0.3 * n, v), (1, 0, 0))
        indices += [at, at + 1, at + 2, at, at + 2, at + 3]
    return vertices, np.array(indices)


def mesh(frag, shape, cull=0, **more):
    vertices, indices = shape
    return Scene("mesh.vert", frag, attributes=MESH, stride=24, vertices=vertices, indices=indices, cull=cull, **more)


PLANE = [(109, 0), (109, 16), (109, 32)]


def plane(frag, two=True, vert="plane.vert", first=None, second=None, **more):
    """Three triangles: two of a tilted square, and a smaller one over it that faces away."""
    corners = [(-0.93, -0.91, 1.0), (0.97, -0.83, 1.6), (0.89, 0.95, 2.1), (-0.95, 0.87, 1.3), (-0.31, 0.42, 1.1), (0.61, 0.37, 0.9), (0.13, -0.62, 1.4)]
    a = first or [(0, 0, 0.1, 0), (1, 0, 0.5, 0.3), (1, 1, 0.9, 1), (0, 1, 0.4, 0.6), (0.2, 0.7, 0.3, 0.1), (0.8, 0.7, 0.6, 0.9), (0.5, 0.2, 0.8, 0.5)]
    b = second or [(-0.9, -0.8, 0.5, 1), (0.8, -0.9, 0.6, 1.5), (0.9, 0.7, 0.4, 2), (-0.7, 0.9, 0.7, 1.2), (0.1, 0.2, 0.9, 1), (0.9, 0.1, 0.2, 1.1), (-0.4, 0.8, 0.3, 1.7)]
    rows = [(x * w, y * w, (0.2 + 0.1 * n) * w, w, *a[n], *b[n]) for n, (x, y, w) in enumerate(corners)]
    vertices = b"".join(struct.pack("<12f", *row) for row in rows)
    used = PLANE if two else PLANE[:2]
    return Scene(vert, frag, attributes=used, stride=48, vertices=vertices, indices=np.array([0, 1, 2, 0, 2, 3, 4, 5, 6]), defines=("TWO",) if two else (), **more)


def grid(side=9):
    """A ground that recedes: place in the grid, and texture coordinates."""
    vertices, indices = b"", []
    for row in range(side):
        for column in range(side):
            u, v = column / (side - 1), row / (side - 1)
            w = 1 + 1.5 * v
            x, y = (2 * u - 1) * (0.95 + 0.4 * v), 0.85 - 1.3 * v
            vertices += struct.pack("<12f", x * w, y * w, (0.2 + 0.5 * v) * w, w, column * 2 + 1, row * 2 + 1, u, v, 0, 0, 0, 0)
    for row in range(side - 1):
        for column in range(side - 1):
            at = row * side + column
            indices += [at, at + 1, at + side + 1, at, at + side + 1, at + side]
    return vertices, np.array(indices)


def attributes_of_all_formats():
    rng = np.random.default_rng(3)
    rows = []
    corners = [(-0.9, -0.8, 0.2), (0.8, -0.9, 0.6), (0.1, 0.9, 0.4)]
    for n in range(9):
        x, y, z = corners[n % 3]
        row = bytes(rng.integers(0, 256, 4).astype("u1"))  # 0 unorm8
        row += rng.integers(-32768, 32768, 4).astype("<i2").tobytes()  # 4 snorm16
        row += rng.integers(-128, 128, 4).astype("i1").tobytes()  # 12 sint8
        row += rng.integers(0, 65536, 2).astype("<u2").tobytes()  # 16 uint16
        row += rng.uniform(-4, 4, 4).astype("<f2").tobytes()  # 20 half4
        row += int(rng.integers(0, 1 << 32)).to_bytes(4, "little")  # 28 ten
        row += struct.pack("<3f", x * (1 - 0.2 * (n // 3)), y * (1 - 0.2 * (n // 3)), z)  # 32 three
        row += int(rng.integers(0, 1 << 32)).to_bytes(4, "little")  # 44 one
        row += rng.integers(-300, 300, 2).astype("<i2").tobytes()  # 48 scaled
        rows.append(row)
    fmts = [(37, 0), (92, 4), (42, 12), (81, 16), (97, 20), (64, 28), (106, 32), (98, 44), (80, 48)]
    return b"".join(rows), len(rows[0]), fmts


def depth_map(size, layers=1, view=1):
    y, x = np.mgrid[0:size, 0:size]
    slices = [(0.5 + 0.3 * np.sin(x * 0.4 + s) * np.cos(y * 0.3)).astype("<f4") for s in range(layers)]
    return Image(view, 126, (size, size, 1), [bytes_of(np.stack(slices)[..., None])], layers)


def scenes():
    mips = rgba8()
    trilinear = Sampler()
    nearest = Sampler(0, 0, 0, (2, 2, 2))
    one = lambda array, fmt, view=1, layers=1: Image(view, fmt, (array.shape[2], array.shape[1], 1), [bytes_of(array)], layers)
    cube_sides = directions(32, 6)
    solid = Image(2, 37, (16, 16, 8), [unorm8(np.stack([wave(16 >> n, 16 >> n, 0.5 * s) for s in range(8 >> n)])) for n in range(4)])
    line = Image(0, 37, (64, 1, 1), [unorm8(wave(64 >> n, 1, 0.2 * n))[None] for n in range(7)])
    lines = Image(4, 37, (32, 1, 1), [np.stack([unorm8(wave(32, 1, s)) for s in range(4)])], 4)
    soft = lambda size=32: wave(size, size)[None]
    leaf = unorm8(wave(64, 64, turns=2.0))[None]
    leaf[..., 3] = unorm8(0.5 + 0.5 * np.sin(np.mgrid[0:64, 0:64][0] * 0.35 + 0.2) * np.cos(np.mgrid[0:64, 0:64][1] * 0.3))
    bump = unorm8(wave(64, 64, turns=1.0)[..., :2] * 0.5 + 0.25)[None]
    lights = b"".join(struct.pack("<4f", *v) for v in [(1.5, 1, -3, 8), (-2, 0.5, -2, 16), (0, 2, -2.5, 4), (0, 0, 0, 1)])
    lights += b"".join(struct.pack("<4f", *v) for v in [(3, 2, 1, 0), (1, 2, 3, 0), (2, 2, 2, 0), (0, 0, 0, 0)]) + struct.pack("<4I", 3, 0, 0, 0)
    formats, stride, fmts = attributes_of_all_formats()
    ten = noise((1, 32, 32, 1), "<u4", 1 << 30)
    table = np.linspace(-1, 1, 64).astype("<f4").tobytes()
    both = lambda **how: [BYTES(**how), FLOATS(**how)]
    tight = dict(type="f32", max_abs=4e-5)
    ground = grid()
    all_scenes = {
        "cube": mesh("cube.frag", cube(), 2, uniforms={0: scene_block(0.5, 0.7, 4.2, repeat=1.5)}, textures={1: (mips, trilinear)},
                     push=struct.pack("<8f", 0.4, 0.5, -0.77, 0.8, 0.2, 0.25, 0.3, 0), targets=[BYTES()]),
        "cube_srgb": mesh("cube.frag", cube(), 2, uniforms={0: scene_block(-0.6, 0.4, 4.0, repeat=3.0)},
                     textures={1: (rgba8(fmt=43, size=32, levels=6), Sampler(mip=0))},
                     push=struct.pack("<8f", 0.4, 0.5, -0.77, 0.8, 0.2, 0.25, 0.3, 0), targets=[Target((97, 8), "f16")]),
        "normal": mesh("normal.frag", cube(), 2, uniforms={0: scene_block(0.4, -0.6, 4.1), 3: lights}, defines=("TANGENT",),
                     textures={1: (mips, trilinear), 2: (Image(1, 16, (64, 64, 1), [bump]), Sampler(wrap=(0, 0, 0)))}, targets=[Target((97, 8), "f16", type="f32", max_abs=0.03)]),
        "foliage": mesh("foliage.frag", card(3), 0, uniforms={0: scene_block(0.2, 0.3, 3.5, repeat=1.0)},
                     textures={1: (Image(1, 37, (64, 64, 1), [leaf]), Sampler(1, 1, 0)), 2: (mips, trilinear)}, targets=[BYTES(type="f32", max_abs=0.04)]),
        "demote": mesh("demote.frag", card(3), 0, uniforms={0: scene_block(0.2, 0.3, 3.5, repeat=1.0)},
                     textures={1: (Image(1, 37, (64, 64, 1), [leaf]), Sampler(1, 1, 0)), 2: (mips, trilinear)}, targets=[BYTES(type="f32", max_abs=0.04)]),
        "instances": mesh("cube.frag", cube(), 2, instances=3, uniforms={0: scene_block(0.5, 0.7, 9.0, shift=(2.5, 0, 0), repeat=1.0)}, textures={1: (mips, trilinear)},
                     push=struct.pack("<8f", 0.4, 0.5, -0.77, 0.8, 0.2, 0.25, 0.3, 0), targets=[BYTES()]),
        "deferred": mesh("deferred.frag", cube(), 2, uniforms={0: scene_block(0.3, 0.9, 4.3)}, defines=("TANGENT",), textures={1: (mips, trilinear)},
                     targets=[BYTES(), Target((64, 4), "f16"), Target((97, 8), "f16", **SMOOTH), Target((101, 8), "f32", (101, 8), 2, type="u32"), Target((100, 4), "f32", (100, 4), 1, type="f32", max_abs=1e-4)]),
        "shadow": plane("shadow.frag", textures={1: (depth_map(32), Sampler(1, 1, 0, (2, 2, 2), compare=3)), 2: (depth_map(32, 3, 5), Sampler(0, 0, 0, (3, 3, 3), compare=4, border=4)),
                     3: (depth_map(32, 6, 3), Sampler(0, 0, 0, (2, 2, 2), compare=1))}, targets=[FLOATS()]),
        "qualifiers": plane("qualifiers.frag", vert="qualifiers.vert", targets=[FLOATS(**tight), FLOATS(**tight), INTS(), FLOATS(**tight)]),
        "exports": plane("exports.frag", False, targets=[
            Target((91, 8), "pair", (91, 8), type="u32"), Target((92, 8), "pair", (92, 8), type="u32"), Target((95, 8), "pair", (95, 8), type="u32"), Target((96, 8), "pair", (96, 8), type="u32"),
            Target((103, 8), "f32", (103, 8), 2, type="u32"), Target((100, 4), "f32", (100, 4), 1, type="u32"), Target((41, 4), "pair", (95, 8), type="u32"), Target((97, 8), "pair", (97, 8), type="u32")]),
        "derivatives": plane("derivatives.frag", targets=[FLOATS(type="f32", max_abs=1e-2), FLOATS(type="f32", max_abs=1e-3), FLOATS(type="f32", max_abs=1e-2)]),
        "dimensions": plane("dimensions.frag", textures={1: (line, trilinear), 2: (lines, Sampler(1, 1, 0, (1, 1, 1))), 3: (rgba8(32, 6, 5, 5), trilinear), 4: (solid, trilinear),
                     5: (cube_sides, Sampler(wrap=(2, 2, 2))), 6: (directions(16, 5, 2), Sampler(wrap=(2, 2, 2)))}, targets=[FLOATS(type="f32", max_abs=0.06)] * 3),
        "gather": plane("gather.frag", False, textures={1: (rgba8(32, 1), Sampler(1, 1, 0)), 2: (rgba8(32, 1, 3, 5), Sampler(1, 1, 0, (1, 2, 2))), 3: (one(noise((1, 32, 32, 4)), 41), Sampler(0, 0, 0)),
                     4: (rgba8(32, 1, 6, 3), Sampler(1, 1, 0, (2, 2, 2)))}, targets=[FLOATS(), FLOATS(), UINTS(), FLOATS()]),
        "fetch": plane("fetch.frag", False, textures={1: (rgba8(64, 5), nearest), 2: (rgba8(32, 3, 4, 5), nearest), 3: (one(noise((1, 32, 32, 2), "<i2", 30000), 82), nearest),
                     4: (solid, nearest), 5: (cube_sides, nearest)}, targets=[FLOATS(**tight), INTS(), INTS(), FLOATS(**tight)]),
        "lods": plane("lods.frag", textures={1: (mips, trilinear), 2: (cube_sides, Sampler(wrap=(2, 2, 2))), 3: (solid, trilinear), 4: (rgba8(), Sampler(1, 1, 1, (3, 4, 1), border=4, bias=0.5, least=0.75, most=3.5))},
                     targets=[FLOATS(type="f32", max_abs=0.06)] * 4),
        "gather_ints": plane("gather_ints.frag", textures={1: (Image(3, 41, (16, 16, 1), [noise((6, 16, 16, 4))], 6), Sampler(0, 0, 0, (2, 2, 2))),
                     2: (Image(5, 99, (32, 32, 1), [bytes_of(noise((4, 32, 32, 1), "<i4", 1 << 20))], 4), Sampler(0, 0, 0)), 3: (Image(3, 98, (16, 16, 1), [bytes_of(noise((6, 16, 16, 1), "<u4", 1 << 20))], 6), Sampler(0, 0, 0, (2, 2, 2))),
                     4: (depth_map(32, 3, 5), Sampler(1, 1, 0, (2, 2, 2), compare=3))}, targets=[UINTS(), INTS(), UINTS(), FLOATS(**tight)]),
        "interpolate": plane("interpolate.frag", vert="linear.vert", targets=[FLOATS(type="f32", max_abs=5e-3), FLOATS(type="f32", max_abs=1e-3)]),
        "more_lods": plane("more_lods.frag", textures={1: (mips, trilinear), 2: (rgba8(32, 6, 5, 5), trilinear), 3: (cube_sides, Sampler(wrap=(2, 2, 2))), 4: (depth_map(32, 3, 5), Sampler(1, 1, 0, (2, 2, 2), compare=4)),
                     5: (Image(2, 42, (8, 8, 8), [noise((8, 8, 8, 4))]), Sampler(0, 0, 0))}, targets=[FLOATS(type="f32", max_abs=0.06)] * 3 + [INTS()]),
        "writes": plane("writes.frag", False, textures={1: (mips, trilinear)}, images={2: Image(1, 98, (64, 64, 1), [noise((1, 64, 64, 4))]), 4: Image(1, 109, (32, 32, 1), [bytes_of(wave(32, 32)[None].astype("<f4"))])},
                     storage={3: bytes(12 + 4 * 64 * 64)}, targets=[FLOATS(**tight)]),
        "query": plane("query.frag", False, textures={1: (mips, trilinear)}, targets=[FLOATS(type="f32", max_abs=0.1)]),
        "texels": plane("formats_tex.frag", False, textures={
            1: (one(unorm8(soft()).view("u1"), 44), trilinear), 2: (one(np.round(soft()[..., :1] * 31).astype("<u2") * 0x821, 4), trilinear),
            3: (one(soft().astype("<f2"), 97), trilinear), 4: (one(np.round(soft() * 65535).astype("<u2"), 91), trilinear),
            5: (one((unorm8(soft()) // 2).astype("i1"), 38), trilinear), 6: (one(soft()[..., :1].astype("<f4"), 100), trilinear),
            7: (one((np.round(soft()[..., 0:1] * 1023).astype("<u4") | np.round(soft()[..., 1:2] * 1023).astype("<u4") << 10 | 3 << 30).astype("<u4"), 64), trilinear),
            8: (one((np.round(soft()[..., 0:1] * 511).astype("<u4") | np.round(soft()[..., 1:2] * 511).astype("<u4") << 9 | 15 << 27).astype("<u4"), 123), trilinear)}, targets=[FLOATS()] * 4),
        "blocks": plane("formats_tex.frag", False, textures={
            1: (Image(1, 133, (32, 32, 1), [noise((1, 8, 8, 8))]), nearest), 2: (Image(1, 137, (32, 32, 1), [noise((1, 8, 8, 16), seed=6)]), nearest),
            3: (Image(1, 145, (32, 32, 1), [noise((1, 8, 8, 16), seed=7)]), nearest), 4: (one(np.round(soft()[..., :1] * 63).astype("u1"), 9), trilinear),
            5: (one(unorm8(soft()[..., :2]), 16), trilinear), 6: (one(soft()[..., :1].astype("<f2"), 76), trilinear),
            7: (one((ten & 0x3FF | 0x1C0 << 22 | 0x1E0 << 11).astype("<u4") & np.uint32(0xF83FF9FF), 122), nearest), 8: (one(soft().astype("<f4"), 109), trilinear)}, targets=[FLOATS()] * 4),
        "integers": plane("integers.frag", False, textures={1: (one(noise((1, 32, 32, 4)), 41), nearest), 2: (one(noise((1, 32, 32, 2), "<i2", 30000), 82), Sampler(0, 0, 0)), 3: (one(noise((1, 16, 16, 1), "<u4", 1 << 32), 98), nearest)},
                     targets=[UINTS(), INTS()]),
        "facing": plane("facing.frag", False, targets=[FLOATS(**tight), FLOATS(type="f32", max_abs=4e-5)]),
        "depth": plane("depth.frag", False, targets=[BYTES(type="f32", max_abs=1e-3), Target((126, 4), "depth", (126, 4), type="f32", max_abs=1e-4)]),
        "storage": plane("storage.frag", False, images={1: Image(1, 37, (64, 64, 1), [np.zeros((1, 64, 64, 4), "u1")]), 2: Image(1, 98, (16, 16, 1), [np.zeros((1, 16, 16, 4), "u1")])},
                     storage={3: bytes(72)}, targets=[FLOATS(**tight)]),
        "branches": plane("branches.frag", uniforms={0: table}, textures={1: (rgba8(levels=1), Sampler(1, 1, 0))}, push=struct.pack("<if", 9, 0.25), targets=[FLOATS()]),
        "arithmetic": plane("halves.frag", targets=[FLOATS(**tight), UINTS(), FLOATS(type="f32", max_abs=1e-3)]),
        # The driver takes the amount of the largest coordinate's change for the change: where that one falls, its level is another than
        # lavapipe's, so changes are small.
        "reflect": mesh("reflect.frag", cube(), 2, uniforms={0: scene_block(0.75, 0.7, 4.2)}, textures={1: (cube_sides, Sampler(wrap=(2, 2, 2))), 2: (directions(16, 5, 2), Sampler(wrap=(2, 2, 2)))},
                     push=struct.pack("<8f", 0.5, 0.4, -4.2, 0, 0.7, 3.0, 0, 0), targets=[BYTES(type="f32", max_abs=0.04), FLOATS(type="f32", max_abs=0.06)]),
        "parallax": mesh("parallax.frag", cube(), 2, uniforms={0: scene_block(0.4, -0.6, 4.1)}, defines=("TANGENT",),
                     textures={1: (mips, trilinear), 2: (Image(1, 9, (64, 64, 1), [unorm8(wave(64 >> n, 64 >> n, turns=1.0)[..., :1])[None] for n in range(7)]), trilinear)},
                     push=struct.pack("<8f", 0.3, 0.2, -4.1, 0, 0.2, 6, 17, 0), targets=[BYTES(type="f32", max_abs=0.04), FLOATS(type="f32", max_abs=0.06)]),
        "terrain": Scene("terrain.vert", "terrain.frag", attributes=PLANE[:2], stride=48, vertices=ground[0], indices=ground[1],
                     textures={1: (one(wave(19, 19)[None, ..., :1].astype("<f4"), 100), nearest), 2: (rgba8(32, 6, 5, 5), trilinear), 3: (depth_map(16, 12, 6), Sampler(0, 0, 0, (2, 2, 2), compare=1))},
                     targets=[FLOATS(type="f32", max_abs=0.06), UINTS()]),
        "formats": Scene("formats.vert", "formats.frag", attributes=fmts, stride=stride, vertices=formats, indices=np.arange(9), instances=2,
                     push=struct.pack("<4f2i", 0.8, 0.9, 0.05, -0.03, -3, 11), targets=[Target((109, 16), type="f32", max_abs=0.02), INTS(), UINTS()]),
        "sample": Scene(comp="sample.comp", groups=(4, 4, 1), block=(8, 8, 1), storage={0: bytes(16 * 32 * 32)}, how={0: dict(type="f32", max_abs=0.06)},
                     textures={1: (mips, trilinear), 2: (depth_map(32), Sampler(1, 1, 0, (2, 2, 2), compare=3)), 3: (solid, trilinear), 4: (cube_sides, Sampler(wrap=(2, 2, 2)))},
                     push=struct.pack("<3f", 0.045, 0.05, 0.5)),
        "blur": Scene(comp="blur.comp", groups=(1, 64, 1), block=(64, 1, 1), textures={1: (mips, nearest)}, images={2: Image(1, 109, (64, 64, 1), [np.zeros((1, 64, 64, 16), "u1")])}, how={2: dict(type="f32", max_abs=1e-5)}),
        "images": Scene(comp="images.comp", groups=(2, 2, 1), block=(8, 8, 1), images={
            0: Image(1, 37, (16, 16, 1), [noise((1, 16, 16, 4))]), 1: one(np.round(wave(16, 16)[None] * 8).astype("<f2"), 97), 2: Image(1, 98, (32, 16, 1), [bytes_of(noise((1, 16, 32, 1), "<u4", 1000))]),
            3: Image(5, 99, (16, 16, 1), [np.zeros((4, 16, 16, 4), "u1")], 4), 4: Image(2, 109, (8, 8, 8), [np.zeros((8, 8, 8, 16), "u1")]), 5: one(noise((1, 16, 16, 2), "<i2", 3000), 82)}, how={4: dict(type="f32", max_abs=1e-6)}),
    }
    return all_scenes
