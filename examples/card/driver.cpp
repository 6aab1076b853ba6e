#include "driver.hpp"

#include <fstream>
#include <iterator>

const std::array<Family, 3> FAMILIES = {{
    {"tesla", "g80", false, {0x00, 0x0c, 0x18}, {0x00, 0x10, 0x1c}, {0x00, 0x04, 0x10}, 4, false},
    {"fermi", "gf100", false, {0x80, 0x90, 0xa0}, {0x70, 0x80, 0x90}, {0x7c, 0x80, 0x90}, 8, true},
    {"gcn", "fiji", true, {}, {}, {}, 0, false},
}};

namespace {

constexpr uint32_t RING_SIZE = 1 << 16;
constexpr uint32_t GOBS_LOG2 = 2;
constexpr uint32_t CONSTANT_BYTES = 256;
constexpr uint32_t IDENTITY = 4 | 5 << 3 | 6 << 6 | 7 << 9;
// Texture coordinates wrap; all filters are linear, also between levels.
const std::vector<uint32_t> NVIDIA_SAMPLER = {0x00026000, 0x000000e2, 0x00f00000, 0, 0, 0, 0, 0};
const std::vector<uint32_t> GCN_SAMPLER = {0x80000000, 0x00f00000, 2U << 26 | 1 << 22 | 1 << 20, 0};

// The descriptor of a buffer of GCN: a data format whose components are floats.
void buffer(std::vector<uint32_t> &out, uint64_t address, uint32_t bytes, uint32_t stride, uint32_t data_format)
{
    out.insert(out.end(), {uint32_t(address), uint32_t(address >> 32) | stride << 16, bytes,
                           IDENTITY | 7 << 12 | data_format << 15});
}

} // namespace

Driver::Driver(const warpjit_memory *bus, const Family &family, const std::string &folder, uint32_t width, uint32_t height)
    : bus(bus), family(family), width(width), height(height)
{
    ring = allocate(RING_SIZE * 4);
    colours = allocate(uint64_t(width) * height * 4);
    depths = allocate(uint64_t(width) * height * 4);
    for (uint64_t &address : constants)
        address = allocate(CONSTANT_BYTES);
    const char *names[3] = {"vertex", "pixel", "cutout"};
    for (int n = 0; n < 3; n++) {
        const std::string path = folder + "/" + family.name + "/" + names[n] + ".bin";
        std::ifstream file(path, std::ios::binary);
        const std::string code{std::istreambuf_iterator<char>(file), {}};
        if (code.empty())
            throw std::runtime_error("cannot read " + path);
        programs[n] = upload(code.data(), code.size());
        program_bytes[n] = code.size();
    }
    for (const Mesh &mesh : meshes()) {
        vertices.push_back(upload(mesh.vertices.data(), mesh.vertices.size() * sizeof(Vertex)));
        indices.push_back(upload(mesh.indices.data(), mesh.indices.size() * 4));
        vertex_counts.push_back(uint32_t(mesh.vertices.size()));
        index_counts.push_back(uint32_t(mesh.indices.size()));
    }
    for (const Texture &texture : ::textures()) {
        const auto bytes = layout(texture);
        const uint64_t at = upload(bytes.data(), bytes.size());
        const uint32_t last = texture.last_level(), side = texture.size;
        texels.push_back(at);
        if (family.is_gcn)
            // 8_8_8_8 unorm; 1D thin, two-dimensional; the pitch is the width.
            textures.push_back({uint32_t(at >> 8), uint32_t(at >> 40) | 10 << 20, (side - 1) | (side - 1) << 14,
                                IDENTITY | last << 16 | 13 << 20 | 9U << 28, (side - 1) << 13, 0, 0, 0});
        else
            // RGBA8 unorm; normalised coordinates, block-linear, two-dimensional.
            textures.push_back({0x2c692488, uint32_t(at), 0xc0005000 | GOBS_LOG2 << 22 | uint32_t(at >> 32), 0x00300000,
                                0x80000000 | side, last << 28 | 1 << 16 | side, 0x03000000,
                                family.has_view_levels ? last << 4 : 0});
    }
    write_register(RING_BASE, uint32_t(ring));
    write_register(RING_WORDS, RING_SIZE);
    command(SET_TARGET, {uint32_t(colours), uint32_t(depths), width, height});
}

uint64_t Driver::allocate(uint64_t bytes)
{
    const uint64_t address = next;
    next = (next + bytes + 4095) & ~uint64_t(4095);
    if (next > VRAM + VRAM_BYTES)
        throw std::runtime_error("VRAM is full");
    return address;
}

uint64_t Driver::upload(const void *data, size_t bytes)
{
    const uint64_t address = allocate(bytes);
    check(warpjit_memory_write(bus, address, data, bytes));
    return address;
}

std::vector<uint8_t> Driver::layout(const Texture &texture) const
{
    return family.is_gcn ? texture.tiled_1d() : texture.block_linear(family.gob_rows, GOBS_LOG2);
}

void Driver::change_texture(uint32_t number, const Texture &texture)
{
    const auto bytes = layout(texture);
    check(warpjit_memory_write(bus, texels.at(number), bytes.data(), bytes.size()));
}

void Driver::write_register(uint32_t offset, uint32_t value)
{
    check(warpjit_memory_store(bus, REGISTERS + offset, 4, value));
}

uint32_t Driver::read_register(uint32_t offset) const
{
    uint64_t value;
    check(warpjit_memory_load(bus, REGISTERS + offset, 4, &value));
    return uint32_t(value);
}

void Driver::command(Command command, const std::vector<uint32_t> &words)
{
    std::vector<uint32_t> all = {uint32_t(command) << 16 | uint32_t(words.size())};
    all.insert(all.end(), words.begin(), words.end());
    for (const uint32_t word : all) {
        check(warpjit_memory_store(bus, ring + uint64_t(put) * 4, 4, word));
        put = (put + 1) % RING_SIZE;
    }
}

void Driver::kick()
{
    write_register(PUT, put);
    if (read_register(GET) != put)
        throw std::runtime_error("the card has stopped");
}

void Driver::clear()
{
    command(CLEAR, {150 | 185 << 8 | 220 << 16 | 255U << 24});
}

void Driver::set_program(uint32_t stage, uint32_t number)
{
    std::vector<uint32_t> words = {stage, uint32_t(programs[number]), uint32_t(program_bytes[number])};
    const auto add = [&](std::initializer_list<uint32_t> more) { words.insert(words.end(), more); };
    if (stage == 0 && family.is_gcn) {
        add({1, 3, WARPJIT_INPUT_REGISTER, 0, 1, WARPJIT_PER_VERTEX});
        add({WARPJIT_OUTPUT_POSITION, 0, 4, WARPJIT_OUTPUT_PARAMETER, 0, 3, WARPJIT_OUTPUT_PARAMETER, 1, 2});
    } else if (stage == 0) {
        const auto &in = family.attributes, &out = family.results;
        add({3, 3, WARPJIT_INPUT_ADDRESS, in[0], 3, WARPJIT_PER_VERTEX, WARPJIT_INPUT_ADDRESS, in[1], 3,
             WARPJIT_PER_VERTEX, WARPJIT_INPUT_ADDRESS, in[2], 2, WARPJIT_PER_VERTEX});
        add({WARPJIT_OUTPUT_ADDRESS, out[0], 4, WARPJIT_OUTPUT_ADDRESS, out[1], 3, WARPJIT_OUTPUT_ADDRESS, out[2], 2});
    } else if (family.is_gcn) {
        add({3, 1, WARPJIT_INPUT_ATTRIBUTE, 0, 3, WARPJIT_PER_PRIMITIVE, WARPJIT_INPUT_ATTRIBUTE, 1, 2,
             WARPJIT_PER_PRIMITIVE, WARPJIT_INPUT_REGISTER, 0, 2, WARPJIT_PER_PIXEL, WARPJIT_OUTPUT_MRT, 0, 4});
    } else {
        const auto &in = family.planes;
        add({3, 1, WARPJIT_INPUT_ADDRESS, in[0], 1, WARPJIT_PER_PLANE, WARPJIT_INPUT_ADDRESS, in[1], 3, WARPJIT_PER_PLANE,
             WARPJIT_INPUT_ADDRESS, in[2], 2, WARPJIT_PER_PLANE, WARPJIT_OUTPUT_REGISTER, 0, 4});
    }
    command(SET_PROGRAM, words);
}

void Driver::draw(const Draw &draw)
{
    const uint32_t mesh = draw.mesh;
    const bool discards = mesh == 3;
    // The constants of the draw before are still in use until the card has done it.
    kick();
    check(warpjit_memory_write(bus, constants[0], draw.vertex_constants.data(), sizeof draw.vertex_constants));
    check(warpjit_memory_write(bus, constants[1], draw.pixel_constants.data(), sizeof draw.pixel_constants));
    set_program(0, 0);
    set_program(1, discards ? 2 : 1);
    if (family.is_gcn) {
        // Programs find everything by descriptors in scalar registers.
        const uint64_t array = vertices[mesh];
        const uint32_t bytes = vertex_counts[mesh] * VERTEX_BYTES;
        std::vector<uint32_t> words = {0};
        buffer(words, array, bytes, VERTEX_BYTES, 13);
        buffer(words, array + 12, bytes - 12, VERTEX_BYTES, 13);
        buffer(words, array + 24, bytes - 24, VERTEX_BYTES, 11);
        buffer(words, constants[0], CONSTANT_BYTES, 0, 4);
        command(SET_USER_DATA, words);
        words = {1};
        words.insert(words.end(), textures[mesh].begin(), textures[mesh].end());
        words.insert(words.end(), GCN_SAMPLER.begin(), GCN_SAMPLER.end());
        buffer(words, constants[1], CONSTANT_BYTES, 0, 4);
        command(SET_USER_DATA, words);
    } else {
        command(SET_CONSTANTS, {0, uint32_t(constants[0]), sizeof draw.vertex_constants});
        command(SET_CONSTANTS, {1, uint32_t(constants[1]), sizeof draw.pixel_constants});
        std::vector<uint32_t> words = textures[mesh];
        words.insert(words.end(), NVIDIA_SAMPLER.begin(), NVIDIA_SAMPLER.end());
        command(SET_TEXTURE, words);
    }
    command(SET_VERTICES, {uint32_t(vertices[mesh]), vertex_counts[mesh]});
    command(SET_INDICES, {uint32_t(indices[mesh]), index_counts[mesh]});
    command(DRAW, {(discards ? DISCARDS : CULLS)});
}

std::vector<uint8_t> Driver::picture() const
{
    std::vector<uint8_t> out(size_t(width) * height * 4);
    check(warpjit_memory_read(bus, colours, out.data(), out.size()));
    return out;
}
