// The fixed part between vertex and pixel programs: clips triangles, finds the pixels they cover, tests depth. It is that of examples/draw,
// operation by operation, so that the pictures are the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <warpjit.h>

// What a vertex program leaves: the position in clip space, then a normal and a texture coordinate.
constexpr int VARYINGS = 5;
using ShadedVertex = std::array<float, 4 + VARYINGS>;

// A value that is linear on the screen: at x = y = 0, its change by x, its change by y.
using Plane = std::array<double, 3>;

// The value of a plane at the centre of a pixel.
inline double at_pixel(const Plane &plane, uint32_t x, uint32_t y)
{
    return plane[0] + plane[1] * (x + 0.5) + plane[2] * (y + 0.5);
}

// A triangle on the screen.
struct Primitive {
    std::array<std::array<float, VARYINGS>, 3> varyings;
    // How much each vertex weighs at a pixel, divided by its w.
    std::array<Plane, 3> weights;

    Plane sum(const std::array<float, 3> &values) const;
    Plane one_over_w() const { return sum({1, 1, 1}); }
    Plane over_w(int varying) const
    {
        return sum({varyings[0][varying], varyings[1][varying], varyings[2][varying]});
    }
};

// The pixels of a draw that wait for the pixel program.
struct Fragments {
    std::vector<warpjit_quad> quads;
    std::vector<std::array<float, 4>> depths;
    std::vector<Primitive> primitives;
};

// The depth of what has been drawn so far.
struct Depth {
    uint32_t width, height;
    float *depths;

    bool test(uint32_t x, uint32_t y, float depth, bool writes) const
    {
        float &stored = depths[y * width + x];
        if (!(depth < stored))
            return false;
        if (writes)
            stored = depth;
        return true;
    }
};

Fragments rasterise(const std::vector<ShadedVertex> &vertices, const std::vector<uint32_t> &indices, bool culls,
                    const Depth &depth, bool writes);
