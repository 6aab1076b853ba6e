// What is drawn: the scene of examples/draw, number by number. A ground, a cube of bricks, a torus and a fence with holes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

// Position, normal, texture coordinate.
using Vertex = std::array<float, 8>;

struct Mesh {
    std::vector<Vertex> vertices;
    std::vector<uint32_t> indices;
};

// A square texture of RGBA8 texels with all its mip levels, down to one texel.
struct Texture {
    uint32_t size;
    std::vector<std::vector<std::array<uint8_t, 4>>> levels;

    uint32_t last_level() const { return uint32_t(levels.size()) - 1; }
    // The texels as NVIDIA's block-linear layout has them.
    std::vector<uint8_t> block_linear(uint32_t gob_rows, uint32_t gobs_log2) const;
    // The texels as GCN's array mode "1D thin" has them.
    std::vector<uint8_t> tiled_1d() const;
};

Texture bricks(uint32_t size);
Texture tiles(uint32_t size);

// A draw call: number of mesh and texture, and constants of the two programs.
struct Draw {
    uint32_t mesh;
    std::array<float, 28> vertex_constants;
    std::array<float, 12> pixel_constants;
};

std::vector<Mesh> meshes();
// Each mesh has the texture of the same number.
std::vector<Texture> textures();
std::vector<Draw> frame(uint32_t number, float aspect);
