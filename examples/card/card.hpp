// The card: what an emulator of a graphics card has. Its memory (VRAM) is a memfd that guest programs, the driver and the card see at once.
// Registers are a device in guest memory; a store to PUT makes the card execute the commands in its ring.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "handle.hpp"

// Where the driver finds the card on its bus.
constexpr uint64_t VRAM = 0x1000'0000, VRAM_BYTES = 16 << 20;
constexpr uint64_t REGISTERS = 0x0100'0000, REGISTER_BYTES = 4096;

// Registers, by offset. All have 32 bits.
enum Register : uint32_t {
    RING_BASE = 0x00, // address of the ring in VRAM
    RING_WORDS = 0x04,
    PUT = 0x08, // number of the word behind the last command; a store starts the card
    GET = 0x0c, // number of the next word that the card reads
    FAULTS = 0x10, // draws and dispatches that ended early because their program faulted
    REGISTER_COUNT = 5,
};

// A command is a word (command << 16 | number of words that follow) and its words. Addresses are those of VRAM.
enum Command : uint32_t {
    SET_TARGET = 1, // colours, depth, width, height
    CLEAR, // RGBA8
    SET_PROGRAM, // stage, address, bytes, inputs, outputs; 4 words an input, 3 an output (warpjit_stage_add_...)
    SET_CONSTANTS, // stage, address, bytes: bank 0
    SET_USER_DATA, // stage, words: scalar registers from s0 on
    SET_VERTICES, // address, count; a vertex is position, normal, texture coordinate
    SET_INDICES, // address, count
    SET_TEXTURE, // header, sampler: 8 words each
    DRAW, // flags
    SET_KERNEL, // address, bytes, and of Tesla and Fermi the registers of a thread, of GCN COMPUTE_PGM_RSRC1 and 2
    DISPATCH, // blocks, threads of a block, arguments
};
constexpr uint32_t CULLS = 1, DISCARDS = 2;
constexpr uint32_t VERTEX_BYTES = 32;

class Card {
public:
    // A card with a chip of that name.
    Card(const warpjit_engine *engine, const std::string &chip);
    Card(const Card &) = delete;
    ~Card();

    // The bus: guest memory with VRAM and registers.
    const warpjit_memory *bus() const { return memory.get(); }

    // Stops in the middle of the next dispatch, when its warps have run so many blocks of code.
    void stop_after(uint64_t blocks);
    // Blocks of a dispatch that has stopped in the middle; else 0.
    uint64_t blocks_left() const;
    // Ends the dispatch that has stopped, and goes on with the ring.
    void go_on();

    // Everything that the card remembers: registers, state, a dispatch that has stopped, and VRAM.
    std::vector<uint8_t> save() const;
    // Takes over the state of a card of the same chip. Throws if the bytes are no such state, and leaves this card as it was.
    void restore(const std::vector<uint8_t> &state);

private:
    // What commands have set for a stage.
    struct StageState {
        std::vector<uint32_t> program, constants, user_data;
    };
    struct State {
        std::array<uint32_t, REGISTER_COUNT> registers = {};
        std::array<StageState, 2> stages;
        std::vector<uint32_t> target, vertices, indices, texture, kernel, dispatch;
        // A dispatch that has stopped, as the library saves it; else empty.
        std::vector<uint8_t> stopped;
        template <typename Self, typename Each> static void fields(Self &self, Each each);
    };

    static warpjit_status load(void *user, uint64_t offset, uint32_t bytes, uint64_t *value) noexcept;
    static warpjit_status store(void *user, uint64_t offset, uint32_t bytes, uint64_t value) noexcept;

    void run();
    void execute(uint32_t command, const std::vector<uint32_t> &words);
    void draw(uint32_t flags);
    void dispatch();
    // The program of a stage, or of WARPJIT_STAGE_COMPUTE, as SET_PROGRAM or SET_KERNEL has described it.
    const warpjit_program *program(const std::vector<uint32_t> &words, uint32_t kind);
    Handle<warpjit_program> load_program(const std::vector<uint32_t> &words, uint32_t kind) const;
    Handle<warpjit_launch> launch(const StageState &stage) const;
    bool run_stage(const warpjit_program *program, const warpjit_launch *launch, const warpjit_batch *batch);
    // Whether the guest has done nothing wrong. If it has, that costs it the draw or the dispatch, and nothing else.
    bool is_well(const warpjit_report *report);
    // So many bytes of VRAM, if they are there.
    uint8_t *vram(uint64_t address, uint64_t bytes) const;
    // The same of words.
    template <typename Word> Word *words(uint64_t address, uint64_t count) const;

    const warpjit_engine *engine;
    std::string chip;
    bool is_gcn;
    uint8_t *host = nullptr;
    Handle<warpjit_memory> memory;
    State state;
    Handle<warpjit_save> stop;
    // Programs that have been loaded, by their code and interface.
    std::map<std::vector<uint8_t>, Handle<warpjit_program>> programs;
};
