"""A rasteriser for fragment launches: quads, masks and barycentrics of triangles inside of the view."""

import copy

import numpy as np


def triangles(clip, indices, width, height, cull):
    """For each triangle that is not culled: its number, the vertices, whether it is front."""
    ndc = clip[:, :2] / clip[:, 3:4]
    window = (ndc * 0.5 + 0.5) * [width, height]
    for number, corners in enumerate(indices.reshape(-1, 3)):
        p = np.round(window[corners] * 256)
        area = sum(p[i][0] * p[(i + 1) % 3][1] - p[(i + 1) % 3][0] * p[i][1] for i in range(3))
        front = area < 0
        if area == 0 or (cull == 2 and not front) or (cull == 1 and front):
            continue
        yield number, corners, p, window[corners], front


def cover(p, width, height):
    """Which pixels a triangle covers: centres inside, or on an upper or left edge. `p` in 1/256 of pixels."""
    y, x = np.mgrid[0:height, 0:width]
    x, y = x * 256 + 128, y * 256 + 128
    area = sum(p[i][0] * p[(i + 1) % 3][1] - p[(i + 1) % 3][0] * p[i][1] for i in range(3))
    if area < 0:
        p = p[::-1]
    inside = np.ones((height, width), bool)
    for i in range(3):
        a, b = p[i], p[(i + 1) % 3]
        dx, dy = b - a
        edge = dx * (y - a[1]) - dy * (x - a[0])
        owned = dy < 0 or (dy == 0 and dx > 0)
        inside &= edge >= 0 if owned else edge > 0
    return inside


class Batch:
    """The quads of a draw, in order, and what each of their pixels has."""

    def __init__(self, clip, indices, width, height, cull=0):
        self.width, self.height = width, height
        self.covered = np.zeros((height, width), bool)
        self.corners, self.fronts, self.windows, quads, rows = [], [], [], [], []
        for number, corners, p, window, front in triangles(clip.astype(float), indices, width, height, cull):
            inside = cover(p, width, height)
            self.covered |= inside
            primitive = len(self.corners)
            self.corners.append(corners)
            self.fronts.append(front)
            self.windows.append(window)
            masks = inside[0::2, 0::2] * 1 + inside[0::2, 1::2] * 2 + inside[1::2, 0::2] * 4 + inside[1::2, 1::2] * 8
            for qy, qx in zip(*np.nonzero(masks)):
                quads.append((qx * 2, qy * 2, primitive, masks[qy, qx]))
                for lane in range(4):
                    rows.append((qx * 2 + lane % 2, qy * 2 + lane // 2, primitive, number))
        self.quads = np.array(quads, "<u4")
        self.rows = np.array(rows, int)
        self.clip = clip.astype(float)

    def without(self, quads):
        """The same without some quads."""
        less = copy.copy(self)
        less.quads, less.rows = self.quads[~quads], self.rows[~np.repeat(quads, 4)]
        return less

    def pixels(self, pictures, texel):
        """Rows of pixels from pictures of single triangles."""
        pictures = np.frombuffer(pictures, "u1").reshape(-1, self.height, self.width, texel)
        x, y, _, number = self.rows.T
        return np.ascontiguousarray(pictures[number, y, x])

    def values(self):
        """For each row: linear I, J, perspective I, J, z, w, front."""
        out = np.zeros((len(self.rows), 7))
        for primitive, corners in enumerate(self.corners):
            mine = self.rows[:, 2] == primitive
            at = self.rows[mine][:, :2] + 0.5
            a, b, c = self.windows[primitive]
            area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
            i = ((at[:, 0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (at[:, 1] - a[1])) / area
            j = ((b[0] - a[0]) * (at[:, 1] - a[1]) - (at[:, 0] - a[0]) * (b[1] - a[1])) / area
            clip = self.clip[corners]
            k = 1 - i - j
            one = k / clip[0, 3] + i / clip[1, 3] + j / clip[2, 3]
            z = clip[:, 2] / clip[:, 3]
            out[mine] = np.stack(
                [i, j, i / clip[1, 3] / one, j / clip[2, 3] / one, k * z[0] + i * z[1] + j * z[2], 1 / one,
                 np.full(len(i), float(self.fronts[primitive]))], 1)
        return out
