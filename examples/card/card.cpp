#include "card.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "raster.hpp"

namespace {

const uint32_t STAGES[2] = {WARPJIT_STAGE_VERTEX, WARPJIT_STAGE_FRAGMENT};
// Bytes of a row of a plane: three floats.
constexpr size_t PLANE = 12;

template <typename T> void add_input(warpjit_batch *batch, const std::vector<T> &rows, size_t offset, size_t stride)
{
    const auto *start = reinterpret_cast<const uint8_t *>(rows.data());
    check(warpjit_batch_add_input(batch, start + offset, rows.size() * sizeof(T) - offset, stride));
}

} // namespace

Card::Card(const warpjit_engine *engine, const std::string &chip) : engine(engine), chip(chip)
{
    const int file = memfd_create("vram", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(VRAM_BYTES)) != 0)
        throw std::runtime_error("no memory for VRAM");
    void *mapped = mmap(nullptr, VRAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        throw std::runtime_error("VRAM cannot be mapped");
    host = static_cast<uint8_t *>(mapped);

    auto options = make<warpjit_memory_options>(warpjit_memory_options_new);
    check(warpjit_memory_options_set_chip(options.get(), chip.c_str()));
    memory = make<warpjit_memory>(warpjit_memory_new, options.get());
    check(warpjit_memory_map_file(memory.get(), VRAM, file, 0, VRAM_BYTES, WARPJIT_ACCESS_READ_WRITE, false, nullptr));
    close(file);

    warpjit_device device = {};
    device.load = load;
    device.store = store;
    device.user = this;
    check(warpjit_memory_map_device(memory.get(), REGISTERS, REGISTER_BYTES, &device, nullptr));
}

Card::~Card()
{
    memory.reset();
    munmap(host, VRAM_BYTES);
}

warpjit_status Card::load(void *user, uint64_t offset, uint32_t bytes, uint64_t *value) noexcept
{
    const auto &registers = static_cast<Card *>(user)->state.registers;
    *value = bytes == 4 && offset / 4 < registers.size() ? registers[offset / 4] : 0;
    return WARPJIT_OK;
}

// An exception may not leave a callback. Another status ends the access that has led here with an error.
warpjit_status Card::store(void *user, uint64_t offset, uint32_t bytes, uint64_t value) noexcept
{
    auto *card = static_cast<Card *>(user);
    if (bytes != 4 || offset / 4 >= REGISTER_COUNT)
        return WARPJIT_OK;
    card->state.registers[offset / 4] = uint32_t(value);
    try {
        if (offset == PUT)
            card->run();
        return WARPJIT_OK;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "card: %s\n", error.what());
        return WARPJIT_ERROR_CALLBACK;
    }
}

uint8_t *Card::vram(uint64_t address, uint64_t bytes) const
{
    if (address < VRAM || bytes > VRAM_BYTES || address - VRAM > VRAM_BYTES - bytes)
        throw std::runtime_error("a command names memory that is not there");
    return host + (address - VRAM);
}

void Card::run()
{
    const uint32_t size = state.registers[RING_WORDS / 4];
    const auto word = [&](uint32_t at) {
        uint32_t value;
        std::memcpy(&value, vram(state.registers[RING_BASE / 4] + uint64_t(at) * 4, 4), 4);
        return value;
    };
    uint32_t &get = state.registers[GET / 4];
    const uint32_t put = state.registers[PUT / 4];
    if (size == 0 || put >= size || get >= size)
        throw std::runtime_error("the ring is not set up");
    while (get != put) {
        const uint32_t header = word(get);
        std::vector<uint32_t> words(header & 0xffff);
        for (uint32_t &value : words) {
            get = (get + 1) % size;
            value = word(get);
        }
        get = (get + 1) % size;
        execute(header >> 16, words);
    }
}

void Card::execute(uint32_t command, const std::vector<uint32_t> &words)
{
    const auto needs = [&](size_t count) {
        if (words.size() < count)
            throw std::runtime_error("a command is too short");
    };
    const auto stage = [&]() -> StageState & {
        needs(1);
        return state.stages.at(words[0]);
    };
    const std::vector<uint32_t> rest(words.begin() + !words.empty(), words.end());
    switch (command) {
    case SET_TARGET:
        needs(4);
        state.target = words;
        break;
    case CLEAR: {
        needs(1);
        const uint64_t pixels = uint64_t(state.target.at(2)) * state.target.at(3);
        auto *colours = reinterpret_cast<uint32_t *>(vram(state.target[0], pixels * 4));
        auto *depths = reinterpret_cast<float *>(vram(state.target[1], pixels * 4));
        std::fill(colours, colours + pixels, words[0]);
        std::fill(depths, depths + pixels, 1.0F);
        break;
    }
    case SET_PROGRAM:
        stage().program = rest;
        break;
    case SET_CONSTANTS:
        stage().constants = rest;
        break;
    case SET_USER_DATA:
        stage().user_data = rest;
        break;
    case SET_VERTICES:
        needs(2);
        state.vertices = words;
        break;
    case SET_INDICES:
        needs(2);
        state.indices = words;
        break;
    case SET_TEXTURE:
        needs(16);
        state.texture = words;
        break;
    case DRAW:
        needs(1);
        draw(words[0]);
        break;
    default:
        throw std::runtime_error("there is no command " + std::to_string(command));
    }
}

Handle<warpjit_launch> Card::launch(const StageState &stage) const
{
    auto launch = make<warpjit_launch>(warpjit_launch_new);
    if (!stage.constants.empty()) {
        const uint32_t bytes = stage.constants.at(1);
        check(warpjit_launch_set_constants(launch.get(), 0, vram(stage.constants[0], bytes), bytes));
    }
    for (size_t n = 0; n < stage.user_data.size(); n++) {
        const uint64_t value = stage.user_data[n];
        check(warpjit_launch_set_register(launch.get(), ("s" + std::to_string(n)).c_str(), &value, 1));
    }
    if (!state.texture.empty()) {
        check(warpjit_launch_set_texture(launch.get(), 0, state.texture.data()));
        check(warpjit_launch_set_sampler(launch.get(), 0, state.texture.data() + 8));
    }
    return launch;
}

Handle<warpjit_program> Card::program(const StageState &stage, uint32_t kind) const
{
    const std::vector<uint32_t> &words = stage.program;
    const uint32_t bytes = words.at(1);
    auto interface = make<warpjit_stage>(warpjit_stage_new, kind);
    size_t at = 4;
    for (uint32_t n = 0; n < words.at(2); n++, at += 4)
        check(warpjit_stage_add_input(interface.get(), words.at(at), words.at(at + 1), words.at(at + 2), words.at(at + 3)));
    for (uint32_t n = 0; n < words.at(3); n++, at += 3)
        check(warpjit_stage_add_output(interface.get(), words.at(at), words.at(at + 1), words.at(at + 2), false));

    auto options = make<warpjit_program_options>(warpjit_program_options_new, "tesla");
    check(warpjit_program_options_set_chip(options.get(), chip.c_str()));
    check(warpjit_program_options_set_raw(options.get(), true));
    check(warpjit_program_options_set_stage(options.get(), interface.get()));
    return make<warpjit_program>(warpjit_program_load, engine, vram(words.at(0), bytes), size_t(bytes), options.get(),
                                 nullptr);
}

// What the guest does wrong costs it the draw, and nothing else.
bool Card::run_stage(const warpjit_program *program, const warpjit_launch *launch, const warpjit_batch *batch)
{
    auto report = make<warpjit_report>(warpjit_engine_run_stage, engine, program, memory.get(), launch, batch);
    warpjit_fault fault;
    check(warpjit_report_fault(report.get(), &fault, sizeof fault));
    if (fault.kind != WARPJIT_FAULT_NONE)
        state.registers[FAULTS / 4]++;
    return fault.kind == WARPJIT_FAULT_NONE;
}

void Card::draw(uint32_t flags)
{
    std::shared_ptr<warpjit_program> loaded[2];
    for (int n = 0; n < 2; n++) {
        // The same code with the same interface is the same program.
        const auto &words = state.stages[n].program;
        const uint8_t *code = vram(words.at(0), words.at(1));
        std::vector<uint8_t> key(code, code + words[1]);
        const auto *rest = reinterpret_cast<const uint8_t *>(words.data() + 1);
        key.insert(key.end(), rest, rest + (words.size() - 1) * 4);
        const auto known = std::find_if(programs.begin(), programs.end(), [&](auto &entry) { return entry.first == key; });
        if (known == programs.end())
            programs.emplace_back(key, program(state.stages[n], STAGES[n]));
        loaded[n] = known == programs.end() ? programs.back().second : known->second;
    }

    // Vertices. Programs of NVIDIA get attributes, those of AMD the number of the vertex in a register.
    const uint32_t count = state.vertices.at(1);
    const uint8_t *array = vram(state.vertices.at(0), uint64_t(count) * VERTEX_BYTES);
    std::vector<ShadedVertex> vertices(count);
    std::vector<uint32_t> numbers(count);
    for (uint32_t n = 0; n < count; n++)
        numbers[n] = n;
    auto batch = make<warpjit_batch>(warpjit_batch_new);
    check(warpjit_batch_set_vertices(batch.get(), count));
    const auto &vertex_words = state.stages[0].program;
    const size_t offsets[] = {0, 12, 24};
    for (uint32_t n = 0; n < vertex_words[2]; n++) {
        if (vertex_words[4 + 4 * n] == WARPJIT_INPUT_REGISTER)
            add_input(batch.get(), numbers, 0, 0);
        else
            check(warpjit_batch_add_input(batch.get(), array + offsets[n % 3],
                                          std::max<size_t>(size_t(count) * VERTEX_BYTES, offsets[n % 3]) - offsets[n % 3],
                                          VERTEX_BYTES));
    }
    auto *results = reinterpret_cast<uint8_t *>(vertices.data());
    for (const size_t offset : {0, 16, 28})
        check(warpjit_batch_add_output(batch.get(), results + offset,
                                       std::max(vertices.size() * sizeof(ShadedVertex), offset) - offset,
                                       sizeof(ShadedVertex)));
    auto vertex_launch = launch(state.stages[0]);
    if (!run_stage(loaded[0].get(), vertex_launch.get(), batch.get()))
        return;

    // Triangles.
    const uint32_t width = state.target.at(2), height = state.target.at(3);
    const uint64_t target_bytes = uint64_t(width) * height * 4;
    const Depth depth = {width, height, reinterpret_cast<float *>(vram(state.target[1], target_bytes))};
    const auto *first = reinterpret_cast<uint32_t *>(vram(state.indices.at(0), uint64_t(state.indices.at(1)) * 4));
    const std::vector<uint32_t> indices(first, first + state.indices[1]);
    const bool discards = flags & DISCARDS;
    const Fragments fragments = rasterise(vertices, indices, flags & CULLS, depth, !discards);
    if (fragments.quads.empty())
        return;

    // Pixels. Programs of NVIDIA get planes, those of AMD three values a triangle, and barycentric coordinates a pixel.
    std::vector<std::array<std::array<float, 3>, 1 + VARYINGS>> planes;
    std::vector<std::array<std::array<float, 3>, VARYINGS>> parameters;
    std::vector<std::array<float, 2>> weights;
    for (const Primitive &primitive : fragments.primitives) {
        planes.emplace_back();
        for (int n = 0; n <= VARYINGS; n++) {
            const Plane plane = n == 0 ? primitive.one_over_w() : primitive.over_w(n - 1);
            planes.back()[n] = {float(plane[0]), float(plane[1]), float(plane[2])};
        }
        parameters.emplace_back();
        for (int n = 0; n < VARYINGS; n++) {
            const float p0 = primitive.varyings[0][n];
            parameters.back()[n] = {p0, primitive.varyings[1][n] - p0, primitive.varyings[2][n] - p0};
        }
    }
    for (const warpjit_quad &quad : fragments.quads) {
        const Primitive &primitive = fragments.primitives[quad.primitive];
        for (uint32_t lane = 0; lane < 4; lane++) {
            const uint32_t x = quad.x + lane % 2, y = quad.y + lane / 2;
            const double w = 1.0 / at_pixel(primitive.one_over_w(), x, y);
            weights.push_back({float(at_pixel(primitive.weights[1], x, y) * w),
                               float(at_pixel(primitive.weights[2], x, y) * w)});
        }
    }
    std::vector<std::array<float, 4>> colours(fragments.quads.size() * 4);
    std::vector<uint8_t> alive(colours.size());
    check(warpjit_batch_clear(batch.get()));
    check(warpjit_batch_set_quads(batch.get(), fragments.quads.data(), fragments.quads.size()));
    const auto &pixel_words = state.stages[1].program;
    size_t plane = 0;
    for (uint32_t n = 0; n < pixel_words[2]; n++) {
        const uint32_t words = pixel_words[4 + 4 * n + 2], per = pixel_words[4 + 4 * n + 3];
        if (per == WARPJIT_PER_PIXEL)
            add_input(batch.get(), weights, 0, 0);
        else if (per == WARPJIT_PER_PLANE)
            add_input(batch.get(), planes, std::min<size_t>(plane, VARYINGS) * PLANE, sizeof planes[0]);
        else
            add_input(batch.get(), parameters, std::min<size_t>(plane, VARYINGS - 1) * PLANE, sizeof parameters[0]);
        plane += words;
    }
    check(warpjit_batch_add_output(batch.get(), colours.data(), colours.size() * sizeof colours[0], 0));
    check(warpjit_batch_set_coverage(batch.get(), alive.data(), alive.size()));
    auto pixel_launch = launch(state.stages[1]);
    if (!run_stage(loaded[1].get(), pixel_launch.get(), batch.get()))
        return;

    // Output. Quads are in the order of their triangles, so the last one that wrote a pixel is the nearest.
    uint8_t *target = vram(state.target[0], target_bytes);
    for (size_t row = 0; row < colours.size(); row++) {
        const warpjit_quad &quad = fragments.quads[row / 4];
        const uint32_t lane = row % 4, x = quad.x + lane % 2, y = quad.y + lane / 2;
        if (!(quad.mask >> lane & 1) || !alive[row])
            continue;
        // Only now is it known that the pixel is drawn, so only now may its depth be written.
        if (discards && !depth.test(x, y, fragments.depths[row / 4][lane], true))
            continue;
        for (int k = 0; k < 4; k++)
            target[(size_t(y) * width + x) * 4 + k] =
                uint8_t(std::round(std::clamp(colours[row][k], 0.0F, 1.0F) * 255.0F));
    }
}

template <typename Self, typename Each> void Card::State::fields(Self &self, Each each)
{
    for (auto &stage : self.stages)
        for (auto *field : {&stage.program, &stage.constants, &stage.user_data})
            each(*field);
    for (auto *field : {&self.target, &self.vertices, &self.indices, &self.texture})
        each(*field);
}

namespace {
constexpr char MAGIC[8] = {'w', 'j', 'c', 'a', 'r', 'd', '0', '1'};
}

std::vector<uint8_t> Card::save() const
{
    std::vector<uint8_t> out(MAGIC, MAGIC + sizeof MAGIC);
    const auto put = [&](const void *data, size_t bytes) {
        const auto *start = static_cast<const uint8_t *>(data);
        out.insert(out.end(), start, start + bytes);
    };
    put(state.registers.data(), sizeof state.registers);
    State::fields(state, [&](const std::vector<uint32_t> &field) {
        const auto count = uint32_t(field.size());
        put(&count, sizeof count);
        put(field.data(), field.size() * 4);
    });
    put(host, VRAM_BYTES);
    return out;
}

void Card::restore(const std::vector<uint8_t> &bytes)
{
    size_t at = 0;
    const auto get = [&](void *data, size_t size) {
        if (size > bytes.size() - at)
            throw std::runtime_error("the state is cut off");
        std::memcpy(data, bytes.data() + at, size);
        at += size;
    };
    char magic[sizeof MAGIC];
    State restored;
    get(magic, sizeof magic);
    if (std::memcmp(magic, MAGIC, sizeof magic) != 0)
        throw std::runtime_error("this is no state of a card");
    get(restored.registers.data(), sizeof restored.registers);
    State::fields(restored, [&](std::vector<uint32_t> &field) {
        uint32_t count;
        get(&count, sizeof count);
        if (count > (bytes.size() - at) / 4)
            throw std::runtime_error("the state is cut off");
        field.resize(count);
        get(field.data(), size_t(count) * 4);
    });
    if (bytes.size() - at != VRAM_BYTES)
        throw std::runtime_error("the state has memory of another size");
    get(host, VRAM_BYTES);
    state = restored;
}
