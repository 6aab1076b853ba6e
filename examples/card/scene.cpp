#include "scene.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

using Vec3 = std::array<float, 3>;
using Mat4 = std::array<std::array<float, 4>, 4>;

constexpr float PI = 3.14159265358979323846F;
constexpr float TAU = 6.28318530717958647692F;

float dot(Vec3 a, Vec3 b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vec3 add(Vec3 a, Vec3 b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vec3 times(Vec3 a, float k) { return {a[0] * k, a[1] * k, a[2] * k}; }
Vec3 cross(Vec3 a, Vec3 b)
{
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
Vec3 normalise(Vec3 a)
{
    const float length = std::sqrt(dot(a, a));
    return {a[0] / length, a[1] / length, a[2] / length};
}

Mat4 mul(const Mat4 &a, const Mat4 &b)
{
    Mat4 out;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 4; column++) {
            float sum = 0;
            for (int k = 0; k < 4; k++)
                sum += a[row][k] * b[k][column];
            out[row][column] = sum;
        }
    return out;
}

const Mat4 IDENTITY = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};

Mat4 translation(float x, float y, float z)
{
    return {{{1, 0, 0, x}, {0, 1, 0, y}, {0, 0, 1, z}, {0, 0, 0, 1}}};
}
Mat4 rotation_x(float angle)
{
    const float s = std::sin(angle), c = std::cos(angle);
    return {{{1, 0, 0, 0}, {0, c, -s, 0}, {0, s, c, 0}, {0, 0, 0, 1}}};
}
Mat4 rotation_y(float angle)
{
    const float s = std::sin(angle), c = std::cos(angle);
    return {{{c, 0, s, 0}, {0, 1, 0, 0}, {-s, 0, c, 0}, {0, 0, 0, 1}}};
}
Mat4 look_at(Vec3 eye, Vec3 target)
{
    const Vec3 back = normalise(add(eye, times(target, -1)));
    const Vec3 right = normalise(cross({0, 1, 0}, back));
    const Vec3 up = cross(back, right);
    Mat4 out = IDENTITY;
    const Vec3 axes[3] = {right, up, back};
    for (int row = 0; row < 3; row++)
        out[row] = {axes[row][0], axes[row][1], axes[row][2], -dot(axes[row], eye)};
    return out;
}
Mat4 perspective(float vertical_angle, float aspect, float near, float far)
{
    const float y = 1.0F / std::tan(vertical_angle / 2.0F);
    const float z = far / (near - far);
    return {{{y / aspect, 0, 0, 0}, {0, y, 0, 0}, {0, 0, z, near * z}, {0, 0, -1, 0}}};
}

void parallelogram(Mesh &mesh, Vec3 corner, Vec3 right, Vec3 up, float repeat_u, float repeat_v)
{
    const Vec3 normal = normalise(cross(right, up));
    const auto first = uint32_t(mesh.vertices.size());
    const float corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    for (const auto &[u, v] : corners) {
        const Vec3 at = add(corner, add(times(right, u), times(up, v)));
        mesh.vertices.push_back({at[0], at[1], at[2], normal[0], normal[1], normal[2], u * repeat_u, (1 - v) * repeat_v});
    }
    for (const uint32_t k : {0, 1, 2, 0, 2, 3})
        mesh.indices.push_back(first + k);
}

Mesh cube()
{
    Mesh mesh;
    for (int axis = 0; axis < 3; axis++)
        for (const float sign : {1.0F, -1.0F}) {
            const auto unit = [&](int at, float length) {
                Vec3 out = {0, 0, 0};
                out[at % 3] = length;
                return out;
            };
            const Vec3 right = axis == 0 ? unit(2, -2 * sign) : axis == 1 ? unit(0, 2) : unit(0, 2 * sign);
            const Vec3 up = axis == 1 ? unit(2, -2 * sign) : unit(1, 2);
            const Vec3 half = add(right, up);
            const Vec3 corner = add(unit(axis, sign), {-(half[0] / 2), -(half[1] / 2), -(half[2] / 2)});
            parallelogram(mesh, corner, right, up, 1, 1);
        }
    return mesh;
}

Mesh torus(float radius, float thickness, uint32_t around, uint32_t across)
{
    Mesh mesh;
    for (uint32_t i = 0; i <= around; i++) {
        const float u = float(i) / float(around), s = std::sin(u * TAU), c = std::cos(u * TAU);
        for (uint32_t j = 0; j <= across; j++) {
            const float v = float(j) / float(across), y = std::sin(v * TAU), out = std::cos(v * TAU);
            const float from_axis = radius + thickness * out;
            mesh.vertices.push_back(
                {from_axis * c, thickness * y, -from_axis * s, out * c, y, -out * s, u * 6, v * 2});
        }
    }
    const uint32_t row = across + 1;
    for (uint32_t i = 0; i < around; i++)
        for (uint32_t j = 0; j < across; j++) {
            const uint32_t at = i * row + j;
            for (const uint32_t index : {at, at + row, at + row + 1, at, at + row + 1, at + 1})
                mesh.indices.push_back(index);
        }
    return mesh;
}

// A number below 256 that looks random.
uint32_t noise(uint32_t x, uint32_t y)
{
    uint32_t hash = x * 0x9e3779b1U ^ y * 0x85ebca77U;
    hash ^= hash >> 15;
    hash *= 0x2c1b3c6dU;
    return hash >> 24;
}

using Texel = std::array<uint8_t, 4>;

template <typename Make> Texture texture(uint32_t size, Make texel)
{
    Texture out = {size, {{}}};
    for (uint32_t at = 0; at < size * size; at++)
        out.levels[0].push_back(texel(at % size, at / size));
    for (uint32_t half = size / 2; half > 0; half /= 2) {
        const auto &above = out.levels.back();
        const size_t side = half * 2;
        std::vector<Texel> level;
        for (size_t at = 0; at < size_t(half) * half; at++) {
            const size_t corner = at / half * 2 * side + at % half * 2;
            Texel mean;
            for (int k = 0; k < 4; k++)
                mean[k] = uint8_t((above[corner][k] + above[corner + 1][k] + above[corner + side][k] +
                                   above[corner + side + 1][k] + 2) / 4);
            level.push_back(mean);
        }
        out.levels.push_back(level);
    }
    return out;
}

} // namespace

Texture bricks(uint32_t size)
{
    return texture(size, [=](uint32_t x, uint32_t y) -> Texel {
        const uint32_t height = size / 8, width = size / 4, row = y / height, mortar = size / 64;
        x = (x + row % 2 * width / 2) % size;
        if (y % height < mortar || x % width < mortar)
            return {190, 185, 175, 255};
        const uint32_t grain = noise(x / width, row) / 4 + noise(x, y + 1000) / 12;
        const auto shade = [&](uint32_t base, uint32_t share) {
            return uint8_t(std::min(base + grain * share / 8, 255U));
        };
        return {shade(140, 8), shade(58, 5), shade(42, 4), 255};
    });
}

Texture tiles(uint32_t size)
{
    return texture(size, [=](uint32_t x, uint32_t y) -> Texel {
        const uint32_t half = size / 2, joint = size / 64;
        if (x % half < joint || y % half < joint)
            return {70, 75, 70, 255};
        const auto grain = uint8_t(noise(x, y) / 16);
        if ((x / half + y / half) % 2 == 0)
            return {uint8_t(205 + grain), uint8_t(210 + grain), uint8_t(200 + grain), 255};
        return {uint8_t(95 + grain), uint8_t(125 + grain), uint8_t(105 + grain), 255};
    });
}

std::vector<Texture> textures()
{
    const Texture stripes = texture(64, [](uint32_t x, uint32_t y) -> Texel {
        return (x + y) * 4 / 64 % 2 == 0 ? Texel{240, 240, 235, 255} : Texel{200, 60, 50, 255};
    });
    const Texture fence = texture(64, [](uint32_t x, uint32_t y) -> Texel {
        const uint32_t wire = 64 / 6, along = (x + y) % 64, across = (x + 64 - y) % 64;
        const bool is_there = along < wire || across < wire || y < wire / 2;
        return {170, 175, 185, uint8_t(is_there ? 255 : 0)};
    });
    return {tiles(256), bricks(256), stripes, fence};
}

std::vector<Mesh> meshes()
{
    Mesh ground, wall;
    parallelogram(ground, {-30, 0, 30}, {60, 0, 0}, {0, 0, -60}, 20, 20);
    parallelogram(wall, {-2.4F, 0, 0}, {2 * 2.4F, 0, 0}, {0, 1, 0}, 10, 2);
    return {ground, cube(), torus(1.0F, 0.45F, 48, 24), wall};
}

std::vector<uint8_t> Texture::block_linear(uint32_t gob_rows, uint32_t gobs_log2) const
{
    std::vector<uint8_t> memory;
    for (size_t level = 0; level < levels.size(); level++) {
        const uint32_t side = size >> level;
        const size_t start = memory.size();
        uint32_t log2 = gobs_log2;
        while (log2 > 0 && gob_rows << (log2 - 1) >= side)
            log2--;
        const uint32_t rows = gob_rows << log2, in_row = (side * 4 + 63) / 64, block_bytes = 64 * rows;
        memory.resize(start + size_t(in_row) * ((side + rows - 1) / rows) * block_bytes);
        for (uint32_t at = 0; at < side * side; at++) {
            const uint32_t x = at % side * 4, y = at / side;
            const uint32_t block = y / rows * in_row + x / 64, gob = y % rows / gob_rows;
            const uint32_t offset = block * block_bytes + gob * 64 * gob_rows + y % gob_rows * 64 + x % 64;
            std::memcpy(&memory[start + offset], levels[level][at].data(), 4);
        }
    }
    return memory;
}

std::vector<uint8_t> Texture::tiled_1d() const
{
    std::vector<uint8_t> memory;
    for (size_t level = 0; level < levels.size(); level++) {
        const uint32_t side = size >> level, across = (side + 7) / 8;
        const size_t start = memory.size();
        memory.resize(start + size_t(across) * across * 256);
        for (uint32_t at = 0; at < side * side; at++) {
            const uint32_t x = at % side, y = at / side;
            uint32_t in_tile = 0;
            for (uint32_t k = 0; k < 3; k++)
                in_tile |= (x >> k & 1) << (2 * k) | (y >> k & 1) << (2 * k + 1);
            std::memcpy(&memory[start + size_t(y / 8 * across + x / 8) * 256 + in_tile * 4], levels[level][at].data(), 4);
        }
    }
    return memory;
}

std::vector<Draw> frame(uint32_t number, float aspect)
{
    const float turn = float(number) * TAU / 180.0F;
    const Vec3 eye = {6.2F * std::sin(0.75F + turn), 2.7F, 6.2F * std::cos(0.75F + turn)};
    const Mat4 view = look_at(eye, {0, 0.8F, 0});
    const Mat4 camera = mul(perspective(PI / 4, aspect, 0.2F, 80), view);
    const Vec3 light = normalise({0.45F, 0.8F, 0.55F}), half = normalise(add(light, normalise(eye)));
    const auto draw = [&](uint32_t mesh, const Mat4 &model, Vec3 tint, float shininess, float strength) {
        const Mat4 to_clip = mul(camera, model);
        Draw out = {};
        out.mesh = mesh;
        std::memcpy(out.vertex_constants.data(), to_clip.data(), 64);
        std::memcpy(out.vertex_constants.data() + 16, model.data(), 48);
        out.pixel_constants = {light[0], light[1], light[2], 0.25F, half[0], half[1], half[2], shininess,
                               tint[0], tint[1], tint[2], strength};
        return out;
    };
    const Mat4 cube = mul(translation(-1.3F, 1, -0.6F), rotation_y(0.5F + turn));
    const Mat4 spin = mul(rotation_x(1.1F), rotation_y(2 * turn));
    return {draw(1, cube, {1, 0.95F, 0.9F}, 16, 0.1F),
            draw(2, mul(translation(1.4F, 1.3F, -0.2F), spin), {1, 0.8F, 0.45F}, 40, 0.6F),
            draw(3, mul(translation(-0.3F, 0, 1.9F), rotation_y(0.2F)), {0.9F, 0.9F, 0.85F}, 24, 0.2F),
            draw(0, IDENTITY, {0.9F, 1, 0.9F}, 60, 0.15F)};
}
