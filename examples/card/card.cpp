#include "card.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "raster.hpp"

namespace {

// Bytes of a row of a plane: three floats.
constexpr size_t PLANE = 12;
// Most programs that a card keeps.
constexpr size_t MOST_PROGRAMS = 256;

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

    const char *isa = nullptr;
    check(warpjit_chip_isa(chip.c_str(), &isa));
    is_gcn = std::string(isa) == "gcn";
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

template <typename Word> Word *Card::words(uint64_t address, uint64_t count) const
{
    if (address % sizeof(Word) != 0)
        throw std::runtime_error("a command names words at an odd address");
    return reinterpret_cast<Word *>(vram(address, count * sizeof(Word)));
}

void Card::run()
{
    const uint32_t size = state.registers[RING_WORDS / 4];
    const uint32_t *ring = words<uint32_t>(state.registers[RING_BASE / 4], size);
    uint32_t &get = state.registers[GET / 4];
    const uint32_t put = state.registers[PUT / 4];
    if (put >= size || get >= size)
        throw std::runtime_error("the ring is not set up");
    // Behind a dispatch that has stopped nothing begins.
    while (get != put && state.stopped.empty()) {
        const uint32_t header = ring[get], count = header & 0xffff;
        if (count >= (put + size - get) % size)
            throw std::runtime_error("a command is longer than what is in the ring");
        std::vector<uint32_t> words(count);
        for (uint32_t &value : words) {
            get = (get + 1) % size;
            value = ring[get];
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
        auto *colours = this->words<uint32_t>(state.target[0], pixels);
        auto *depths = this->words<float>(state.target[1], pixels);
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
    case SET_KERNEL:
        needs(4);
        state.kernel = words;
        break;
    case DISPATCH:
        needs(2);
        state.dispatch = words;
        dispatch();
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

const warpjit_program *Card::program(const std::vector<uint32_t> &words, uint32_t kind)
{
    // The same code with the same interface is the same program, wherever it is.
    const uint8_t *code = vram(words.at(0), words.at(1));
    std::vector<uint8_t> key(code, code + words[1]);
    const auto *rest = reinterpret_cast<const uint8_t *>(words.data() + 1);
    key.insert(key.end(), rest, rest + (words.size() - 1) * 4);
    key.push_back(uint8_t(kind));
    auto known = programs.find(key);
    if (known == programs.end()) {
        auto loaded = load_program(words, kind);
        if (programs.size() == MOST_PROGRAMS)
            programs.erase(programs.begin());
        known = programs.emplace(std::move(key), std::move(loaded)).first;
    }
    return known->second.get();
}

Handle<warpjit_program> Card::load_program(const std::vector<uint32_t> &words, uint32_t kind) const
{
    auto options = make<warpjit_program_options>(warpjit_program_options_new, "tesla");
    check(warpjit_program_options_set_chip(options.get(), chip.c_str()));
    check(warpjit_program_options_set_raw(options.get(), true));
    if (kind != WARPJIT_STAGE_COMPUTE) {
        auto interface = make<warpjit_stage>(warpjit_stage_new, kind);
        size_t at = 4;
        for (uint32_t n = 0; n < words.at(2); n++, at += 4)
            check(warpjit_stage_add_input(interface.get(), words.at(at), words.at(at + 1), words.at(at + 2),
                                          words.at(at + 3)));
        for (uint32_t n = 0; n < words.at(3); n++, at += 3)
            check(warpjit_stage_add_output(interface.get(), words.at(at), words.at(at + 1), words.at(at + 2), false));
        check(warpjit_program_options_set_stage(options.get(), interface.get()));
    } else if (is_gcn) {
        check(warpjit_program_options_set_rsrc(options.get(), words.at(2), words.at(3)));
    } else {
        check(warpjit_program_options_set_registers(options.get(), words.at(2)));
    }
    return make<warpjit_program>(warpjit_program_load, engine, vram(words.at(0), words.at(1)), size_t(words[1]),
                                 options.get(), nullptr);
}

bool Card::is_well(const warpjit_report *report)
{
    warpjit_fault fault;
    check(warpjit_report_fault(report, &fault, sizeof fault));
    if (fault.kind != WARPJIT_FAULT_NONE)
        state.registers[FAULTS / 4]++;
    return fault.kind == WARPJIT_FAULT_NONE;
}

bool Card::run_stage(const warpjit_program *program, const warpjit_launch *launch, const warpjit_batch *batch)
{
    return is_well(make<warpjit_report>(warpjit_engine_run_stage, engine, program, memory.get(), launch, batch).get());
}

// Runs state.dispatch from its beginning, or from where it has stopped.
void Card::dispatch()
{
    const std::vector<uint32_t> &words = state.dispatch;
    auto launch = make<warpjit_launch>(warpjit_launch_new);
    check(warpjit_launch_set_grid(launch.get(), words.at(0), 1, 1));
    check(warpjit_launch_set_block(launch.get(), words.at(1), 1, 1));
    if (is_gcn)
        check(warpjit_launch_set_user_data(launch.get(), words.data() + 2, words.size() - 2));
    for (size_t n = 2; n < words.size() && !is_gcn; n++)
        check(warpjit_launch_add_arg_u32(launch.get(), words[n]));
    check(warpjit_launch_set_save(launch.get(), stop.get()));
    stop.reset();

    const warpjit_program *kernel = program(state.kernel, WARPJIT_STAGE_COMPUTE);
    Handle<warpjit_report> report;
    if (state.stopped.empty()) {
        report = make<warpjit_report>(warpjit_engine_run, engine, kernel, memory.get(), launch.get());
    } else {
        // The bytes may come from anywhere; the library finds out whether they are of this launch.
        auto saved = make<warpjit_saved_launch>(warpjit_saved_launch_from_bytes, state.stopped.data(), state.stopped.size());
        report = make<warpjit_report>(warpjit_engine_resume, engine, kernel, memory.get(), launch.get(), saved.get());
        state.stopped.clear();
    }
    if (!is_well(report.get()))
        return;
    warpjit_saved_launch *stopped;
    const warpjit_status status = warpjit_report_saved_launch(report.get(), &stopped);
    if (status == WARPJIT_ERROR_NOT_FOUND)
        return;
    check(status);
    const Handle<warpjit_saved_launch> owned(stopped);
    // Guest memory is VRAM, which the card saves itself.
    auto bytes = make<warpjit_bytes>(warpjit_saved_launch_to_bytes, stopped, nullptr);
    const char *data;
    size_t size;
    check(warpjit_bytes_get(bytes.get(), &data, &size));
    state.stopped.assign(data, data + size);
}

void Card::stop_after(uint64_t blocks)
{
    stop = make<warpjit_save>(warpjit_save_new, blocks);
}

uint64_t Card::blocks_left() const
{
    uint64_t blocks = 0;
    if (!state.stopped.empty()) {
        auto saved = make<warpjit_saved_launch>(warpjit_saved_launch_from_bytes, state.stopped.data(), state.stopped.size());
        check(warpjit_saved_launch_info(saved.get(), &blocks, nullptr));
    }
    return blocks;
}

void Card::go_on()
{
    if (!state.stopped.empty())
        dispatch();
    run();
}

void Card::draw(uint32_t flags)
{
    const warpjit_program *vertex_program = program(state.stages[0].program, WARPJIT_STAGE_VERTEX);
    const warpjit_program *pixel_program = program(state.stages[1].program, WARPJIT_STAGE_FRAGMENT);

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
    if (!run_stage(vertex_program, vertex_launch.get(), batch.get()))
        return;

    // Triangles.
    const uint32_t width = state.target.at(2), height = state.target.at(3);
    const uint64_t pixels = uint64_t(width) * height;
    const Depth depth = {width, height, words<float>(state.target[1], pixels)};
    const auto *first = words<uint32_t>(state.indices.at(0), state.indices.at(1));
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
    if (!run_stage(pixel_program, pixel_launch.get(), batch.get()))
        return;

    // Output. Quads are in the order of their triangles, so the last one that wrote a pixel is the nearest.
    uint8_t *target = vram(state.target[0], pixels * 4);
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
    for (auto *field : {&self.target, &self.vertices, &self.indices, &self.texture, &self.kernel, &self.dispatch})
        each(*field);
}

namespace {
constexpr char MAGIC[8] = {'w', 'j', 'c', 'a', 'r', 'd', '0', '2'};
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
    const uint64_t stopped = state.stopped.size();
    put(&stopped, sizeof stopped);
    put(state.stopped.data(), stopped);
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
    uint64_t stopped;
    get(&stopped, sizeof stopped);
    if (stopped > bytes.size() - at)
        throw std::runtime_error("the state is cut off");
    restored.stopped.resize(stopped);
    get(restored.stopped.data(), stopped);
    if (bytes.size() - at != VRAM_BYTES)
        throw std::runtime_error("the state has memory of another size");
    get(host, VRAM_BYTES);
    state = std::move(restored);
}
