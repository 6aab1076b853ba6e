#include "raster.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double SUBPIXELS = 256;
// Farthest point of a triangle from the screen's corner, in subpixels.
constexpr int64_t GUARD_BAND = 1 << 29;

using Point = std::array<int64_t, 2>;

// Twice the area of a triangle; positive if it is clockwise on the screen, where y grows downwards.
int64_t area(Point a, Point b, Point c)
{
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

// A side of a clockwise triangle. The inside is to its right.
struct Edge {
    Point from, to;

    // Pixel centres on top and left sides belong to the triangle.
    bool has_inside(Point point) const
    {
        const int64_t side = area(from, to, point);
        const bool has_border = (to[1] == from[1] && to[0] > from[0]) || to[1] < from[1];
        return side > 0 || (side == 0 && has_border);
    }

    // The share of the opposite vertex: 0 at this side, 1 at the vertex.
    Plane plane(int64_t twice_area) const
    {
        const double scale = 1.0 / double(twice_area);
        const int64_t start = (to[1] - from[1]) * from[0] - (to[0] - from[0]) * from[1];
        return {double(start) * scale, double(from[1] - to[1]) * SUBPIXELS * scale,
                double(to[0] - from[0]) * SUBPIXELS * scale};
    }
};

// The part of a triangle behind the near plane, where z >= 0.
std::vector<ShadedVertex> clip(const std::array<ShadedVertex, 3> &corners)
{
    std::vector<ShadedVertex> polygon;
    for (int k = 0; k < 3; k++) {
        const ShadedVertex &from = corners[k], &to = corners[(k + 1) % 3];
        const float z_from = from[2], z_to = to[2];
        if (z_from >= 0)
            polygon.push_back(from);
        if ((z_from >= 0) != (z_to >= 0)) {
            const float t = z_from / (z_from - z_to);
            ShadedVertex between;
            for (size_t n = 0; n < between.size(); n++)
                between[n] = from[n] + (to[n] - from[n]) * t;
            polygon.push_back(between);
        }
    }
    return polygon;
}

void triangle(std::array<ShadedVertex, 3> corners, bool culls, const Depth &depth, bool writes, Fragments &out)
{
    std::array<Point, 3> points;
    for (int k = 0; k < 3; k++) {
        const double x = corners[k][0], y = corners[k][1], w = corners[k][3];
        const double at[2] = {std::round((x / w * 0.5 + 0.5) * depth.width * SUBPIXELS),
                              std::round((0.5 - y / w * 0.5) * depth.height * SUBPIXELS)};
        for (int axis = 0; axis < 2; axis++) {
            // What a program leaves may be anything, also no number.
            if (!(at[axis] >= double(-GUARD_BAND) && at[axis] < double(GUARD_BAND)))
                return;
            points[k][axis] = int64_t(at[axis]);
        }
    }
    int64_t twice_area = area(points[0], points[1], points[2]);
    if (twice_area == 0 || (twice_area > 0 && culls))
        return;
    if (twice_area < 0) {
        std::swap(corners[1], corners[2]);
        std::swap(points[1], points[2]);
        twice_area = -twice_area;
    }
    Primitive primitive;
    std::array<Edge, 3> edges;
    Plane z_plane = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        edges[k] = {points[(k + 1) % 3], points[(k + 2) % 3]};
        const Plane share = edges[k].plane(twice_area);
        const double one_over_w = 1.0 / double(corners[k][3]);
        for (int n = 0; n < 3; n++) {
            primitive.weights[k][n] = share[n] * one_over_w;
            z_plane[n] += share[n] * double(corners[k][2]) * one_over_w;
        }
        std::copy(corners[k].begin() + 4, corners[k].end(), primitive.varyings[k].begin());
    }
    int64_t first[2], last[2];
    for (int axis = 0; axis < 2; axis++) {
        const int64_t end = axis == 0 ? depth.width : depth.height;
        const auto [least, most] = std::minmax({points[0][axis], points[1][axis], points[2][axis]});
        first[axis] = std::clamp<int64_t>(least >> 8, 0, end - 1) & ~int64_t(1);
        last[axis] = std::max<int64_t>(std::clamp<int64_t>(most >> 8, -1, end - 1) + 1, 0);
    }
    const size_t before = out.quads.size();
    for (int64_t y = first[1]; y <= last[1] && y < depth.height; y += 2) {
        for (int64_t x = first[0]; x <= last[0] && x < depth.width; x += 2) {
            warpjit_quad quad = {uint32_t(x), uint32_t(y), uint32_t(out.primitives.size()), 0};
            std::array<float, 4> depths = {0, 0, 0, 0};
            for (uint32_t lane = 0; lane < 4; lane++) {
                const uint32_t px = quad.x + lane % 2, py = quad.y + lane / 2;
                const Point centre = {int64_t(px) * 256 + 128, int64_t(py) * 256 + 128};
                if (!std::all_of(edges.begin(), edges.end(), [&](const Edge &edge) { return edge.has_inside(centre); }))
                    continue;
                depths[lane] = float(at_pixel(z_plane, px, py));
                if (depth.test(px, py, depths[lane], writes))
                    quad.mask |= 1U << lane;
            }
            if (quad.mask != 0) {
                out.quads.push_back(quad);
                out.depths.push_back(depths);
            }
        }
    }
    if (out.quads.size() > before)
        out.primitives.push_back(primitive);
}

} // namespace

Plane Primitive::sum(const std::array<float, 3> &values) const
{
    Plane plane = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        for (int vertex = 0; vertex < 3; vertex++)
            plane[k] += double(values[vertex]) * weights[vertex][k];
    return plane;
}

Fragments rasterise(const std::vector<ShadedVertex> &vertices, const std::vector<uint32_t> &indices, bool culls,
                    const Depth &depth, bool writes)
{
    Fragments out;
    for (size_t at = 0; at + 2 < indices.size(); at += 3) {
        // Indices come from the guest.
        if (std::max({indices[at], indices[at + 1], indices[at + 2]}) >= vertices.size())
            continue;
        const auto polygon =
            clip({vertices[indices[at]], vertices[indices[at + 1]], vertices[indices[at + 2]]});
        for (size_t k = 1; k + 1 < polygon.size(); k++)
            triangle({polygon[0], polygon[k], polygon[k + 1]}, culls, depth, writes, out);
    }
    return out;
}
