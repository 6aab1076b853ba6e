#include "driver.hpp"

#include <fstream>
#include <iterator>

// A block copies a row, a thread every 64th pixel of it: `from`, `to`, `width` are the arguments.
static const char *const TESLA_COPY = R"(
    and b32 $r0 $r0 0xffff
    cvt u32 $r1 u16 u16 s[0xc]
    mov b32 $r2 b32 s[0x18]
    mul $r3 u16 $r1l u16 $r2l
    add b32 $r3 $r3 $r0
    shl b32 $r3 $r3 0x2
    long add b32 $r4 b32 s[0x14] $r3
    long add b32 $r3 b32 s[0x10] $r3
    breakaddr #done
again:
    set $c0 # ge u32 $r0 $r2
    (lg $c0) break
    ld b32 $r5 g14[$r3]
    st b32 g14[$r4] $r5
    add b32 $r3 $r3 0x100
    add b32 $r4 $r4 0x100
    add b32 $r0 $r0 0x40
    bra #again
done:
    exit nop
)";
static const char *const FERMI_COPY = R"(
    mov b32 $r0 $ctaidx
    mov b32 $r1 $tidx
    add $r2 (mul u32 $r0 u32 c0[0x28]) $r1
    add b32 $r3 (shl $r2 0x2) c0[0x20]
    add b32 $r4 (shl $r2 0x2) c0[0x24]
again:
    set $p0 0x1 ge u32 $r1 c0[0x28]
    $p0 exit
    ld b32 $r5 ca g[$r3]
    st b32 wb g[$r4] $r5
    add b32 $r3 $r3 0x100
    add b32 $r4 $r4 0x100
    add b32 $r1 $r1 0x40
    bra #again
)";
static const char *const GCN_COPY = R"(
    s_mul_i32 s4, s3, s2
    v_add_u32 v1, vcc, s4, v0
    v_lshlrev_b32 v1, 2, v1
    v_add_u32 v2, vcc, s0, v1
    v_add_u32 v4, vcc, s1, v1
    v_mov_b32 v3, 0
    v_mov_b32 v5, 0
again:
    v_cmp_gt_u32 vcc, s2, v0
    s_and_b64 exec, exec, vcc
    s_cbranch_execz finish
    flat_load_dword v6, v[2:3]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    flat_store_dword v[4:5], v6
    v_add_u32 v2, vcc, 0x100, v2
    v_add_u32 v4, vcc, 0x100, v4
    v_add_u32 v0, vcc, 64, v0
    s_branch again
finish:
    s_endpgm
)";

const std::array<Family, 3> FAMILIES = {{
    {"tesla", "g80", false, {0x00, 0x0c, 0x18}, {0x00, 0x10, 0x1c}, {0x00, 0x04, 0x10}, 4, false, TESLA_COPY},
    {"fermi", "gf100", false, {0x80, 0x90, 0xa0}, {0x70, 0x80, 0x90}, {0x7c, 0x80, 0x90}, 8, true, FERMI_COPY},
    {"gcn", "fiji", true, {}, {}, {}, 0, false, GCN_COPY},
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
    front = allocate(uint64_t(width) * height * 4);
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
    upload_kernel();
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

void Driver::upload_kernel()
{
    // Drivers have compilers. This one has the library's assembler.
    auto code = make<warpjit_bytes>(warpjit_assemble, nullptr, family.chip, WARPJIT_STAGE_COMPUTE, family.copy);
    const char *words;
    size_t bytes;
    check(warpjit_bytes_get(code.get(), &words, &bytes));
    kernel = upload(words, bytes);
    kernel_bytes = uint32_t(bytes);
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
}

void Driver::finish() const
{
    if (read_register(GET) != put)
        throw std::runtime_error("the card has stopped");
}

void Driver::present()
{
    // GCN: 8 vector registers and 16 scalar ones, 3 words of user data, the workgroup's x. Others: 8 registers.
    if (family.is_gcn)
        command(SET_KERNEL, {uint32_t(kernel), kernel_bytes, 1 | 1 << 6, 3 << 1 | 1 << 7});
    else
        command(SET_KERNEL, {uint32_t(kernel), kernel_bytes, 8, 0});
    command(DISPATCH, {height, 64, uint32_t(colours), uint32_t(front), width});
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
    finish();
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
    check(warpjit_memory_read(bus, front, out.data(), out.size()));
    return out;
}
