"""Textures as a GCN chip has them in memory: descriptors, linear layouts, samplers (docs/hardware/graphics-gcn.md)."""

import numpy as np

# By VkFormat: bytes of a texel or block, data format, number format, destination selects, numpy's type of a component.
FORMATS = {
    4: (2, 16, 0, "ZYX1", "u2"),  # R5G6B5_UNORM_PACK16: red in the highest bits
    9: (1, 1, 0, "X001", "u1"),
    16: (2, 3, 0, "XY01", "u1"),
    37: (4, 10, 0, "XYZW", "u1"),
    38: (4, 10, 1, "XYZW", "i1"),
    41: (4, 10, 4, "XYZW", "u1"),
    42: (4, 10, 5, "XYZW", "i1"),
    43: (4, 10, 9, "XYZW", "u1"),
    44: (4, 10, 0, "ZYXW", "u1"),
    64: (4, 9, 0, "XYZW", "u4"),
    76: (2, 2, 7, "X001", "f2"),
    82: (4, 5, 5, "XY01", "i2"),
    91: (8, 12, 0, "XYZW", "u2"),
    97: (8, 12, 7, "XYZW", "f2"),
    98: (4, 4, 4, "X001", "u4"),
    99: (4, 4, 5, "X001", "i4"),
    100: (4, 4, 7, "X001", "f4"),
    109: (16, 14, 7, "XYZW", "f4"),
    122: (4, 6, 7, "XYZ1", "u4"),
    123: (4, 34, 7, "XYZ1", "u4"),
    126: (4, 4, 7, "X001", "f4"),
    133: (8, 35, 0, "XYZW", "u1"),
    137: (16, 37, 0, "XYZW", "u1"),
    145: (16, 41, 0, "XYZW", "u1"),
}
SELECT = {"0": 0, "1": 1, "X": 4, "Y": 5, "Z": 6, "W": 7}
BLOCKS = range(131, 147)
# Types of descriptors by VkImageViewType.
TYPES = [8, 9, 10, 11, 12, 13, 11]


def up(number, unit):
    return -(-number // unit) * unit


def power(number):
    return 1 << max(0, number - 1).bit_length()


class Image:
    """A texture: `levels` are arrays of texels, [slice][y][x][byte]."""

    def __init__(self, view, fmt, size, levels, layers=1):
        self.view, self.format, self.layers = view, fmt, layers
        self.width, self.height, self.depth = size
        self.texel = FORMATS[fmt][0]
        self.block = 4 if fmt in BLOCKS else 1
        self.levels = [np.ascontiguousarray(level).view("u1") for level in levels]
        for n, level in enumerate(self.levels):
            assert level.shape == self.shape(n), (level.shape, self.shape(n))

    def shape(self, n):
        extent = lambda size: max(1, size >> n)
        slices = extent(self.depth) if self.view == 2 else self.layers
        return (slices, up(extent(self.height), self.block) // self.block, up(extent(self.width), self.block) // self.block, self.texel)

    def scene(self, binding, file):
        return f"{binding} {self.view} {self.format} {self.texel} {self.width} {self.height} {self.depth} {self.layers} {len(self.levels)} {file}"

    def packed(self):
        return b"".join(level.tobytes() for level in self.levels)

    def unpack(self, data):
        """Levels from what `packed` gave."""
        levels, at = [], 0
        for n in range(len(self.levels)):
            count = int(np.prod(self.shape(n)))
            levels.append(np.frombuffer(data, "u1", count, at).reshape(self.shape(n)))
            at += count
        return levels

    def linear(self, generation, levels=None):
        """Bytes in memory of a linear layout, and which of them are texels."""
        levels = self.levels if levels is None else levels
        rows, columns = levels[0].shape[1:3]
        if generation == 9:
            pitch = up(columns * self.texel, 256) // self.texel
            total = sum(level.shape[1] for level in levels)
            heights = [rows]
            for _ in levels[1:]:
                heights.append(max(1, (heights[-1] + 1) // 2))
            total = sum(heights)
            slices = levels[0].shape[0]
            memory = np.zeros((slices, total, pitch, self.texel), "u1")
            real = np.zeros((slices, total, pitch, self.texel), bool)
            at = 0
            for level, height in zip(levels, heights):
                memory[: level.shape[0], at : at + level.shape[1], : level.shape[2]] = level
                real[: level.shape[0], at : at + level.shape[1], : level.shape[2]] = True
                at += height
            self.pitch = (total if len(levels) > 1 else pitch) - 1
            return memory.tobytes(), real.ravel()
        unit, area = max(8, 64 // self.texel), max(64, 256 // self.texel)
        out, marks = [], []
        first = None
        for n, level in enumerate(levels):
            slices, height, width, _ = level.shape
            if n:
                width, height = power(max(1, first >> n)), power(max(1, rows >> n))
            if len(levels) > 1:
                slices = power(slices)
                if not n:
                    width, height = power(width), power(height)
            width = up(width, unit)
            while width * height % area:
                width += unit
            if first is None:
                first = width
                self.pitch = width * self.block - 1
            memory = np.zeros((slices, height, width, self.texel), "u1")
            real = np.zeros((slices, height, width, self.texel), bool)
            memory[: level.shape[0], : level.shape[1], : level.shape[2]] = level
            real[: level.shape[0], : level.shape[1], : level.shape[2]] = True
            out.append(memory.tobytes())
            marks.append(real.ravel())
            assert len(out[-1]) % 256 == 0
        return b"".join(out), np.concatenate(marks)

    def words(self, generation, address, storage=False):
        """The descriptor; `linear` was called before."""
        _, data, number, select, _ = FORMATS[self.format]
        selects = sum(SELECT[c] << 3 * n for n, c in enumerate(select))
        kind = TYPES[self.view]
        if storage and kind == 11:
            kind = 13
        if generation == 9 and kind in (8, 12):
            kind += 1  # what drivers do: one row of a 2D image
        levels, faces = len(self.levels) - 1, self.layers
        w = [0] * 8
        w[0] = address >> 8 & 0xFFFF_FFFF
        w[1] = address >> 40 & 0xFF | data << 20 | number << 26
        w[2] = self.width - 1 | self.height - 1 << 14
        w[3] = selects | levels << 16 | kind << 28
        if generation == 9:
            w[4] = (self.depth if kind == 10 else faces) - 1 | self.pitch << 13
            w[5] = levels << 28
        else:
            w[3] |= 8 << 20 | (levels != 0) << 25
            depth = self.depth if kind == 10 else faces // 6 if kind == 11 else faces
            w[4] = depth - 1 | self.pitch << 13
            w[5] = (0 if kind == 10 else faces - 1) << 13
        return w


class Sampler:
    """Vulkan's numbers: filters 0 nearest, 1 linear; wraps 0 repeat 1 mirrored 2 edge 3 border 4 mirror once."""

    def __init__(self, mag=1, low=1, mip=1, wrap=(0, 0, 0), compare=None, border=0, bias=0.0, least=0.0, most=15.0):
        self.mag, self.min, self.mip, self.wrap, self.compare = mag, low, mip, wrap, compare
        self.border, self.bias, self.least, self.most = border, bias, least, most

    def scene(self):
        compares = self.compare is not None
        wraps = " ".join(map(str, self.wrap))
        return f"{self.mag} {self.min} {self.mip} {wraps} {int(compares)} {self.compare or 0} {self.border} {self.bias} {self.least} {self.most}"

    def words(self, generation):
        clamps = [[0, 1, 2, 6, 3][wrap] for wrap in self.wrap]
        fixed = lambda number: int(number * 256) & 0xFFF
        trunc = self.mag == 0 and self.min == 0
        w0 = clamps[0] | clamps[1] << 3 | clamps[2] << 6 | (self.compare or 0) << 12 | trunc << 27
        w0 |= (generation >= 8) << 31
        w1 = fixed(self.least) | fixed(self.most) << 12
        w2 = int(self.bias * 256) & 0x3FFF | self.mag << 20 | self.min << 22 | self.mip + 1 << 26
        return [w0, w1, w2, (self.border // 2) << 30]
