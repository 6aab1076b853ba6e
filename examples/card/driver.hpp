// The driver: the half that runs on the guest's processor. It knows the card by its bus only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "card.hpp"
#include "scene.hpp"

// What differs between families of chips.
struct Family {
    const char *name, *chip;
    bool is_gcn;
    // Tesla and Fermi: addresses of inputs and outputs.
    std::array<uint32_t, 3> attributes, results, planes;
    uint32_t gob_rows;
    bool has_view_levels;
    // Source of the kernel that copies rows of a picture.
    const char *copy;
};
extern const std::array<Family, 3> FAMILIES;

class Driver {
public:
    // Uploads programs, meshes and textures. `programs`: the folder with vertex.bin, pixel.bin and cutout.bin.
    Driver(const warpjit_memory *bus, const Family &family, const std::string &programs, uint32_t width, uint32_t height);

    // Goes on with another card that is in the same state.
    void move(const warpjit_memory *other) { bus = other; }

    void clear();
    void draw(const Draw &draw);
    // Replaces the texels of a texture by those of another one of the same size.
    void change_texture(uint32_t number, const Texture &texture);
    // Shows the frame: a kernel copies it to the picture. The card does it when it is told to (kick).
    void present();
    // Lets the card execute what has been written to the ring.
    void kick();
    // The card must have executed all.
    void finish() const;
    // The picture, as the card has it in its memory.
    std::vector<uint8_t> picture() const;
    uint32_t read_register(uint32_t offset) const;

private:
    uint64_t allocate(uint64_t bytes);
    void upload_kernel();
    uint64_t upload(const void *data, size_t bytes);
    std::vector<uint8_t> layout(const Texture &texture) const;
    void command(Command command, const std::vector<uint32_t> &words);
    void write_register(uint32_t offset, uint32_t value);
    void set_program(uint32_t stage, uint32_t number);

    const warpjit_memory *bus;
    const Family &family;
    uint32_t width, height;
    uint64_t next = VRAM, ring, colours, depths, front, kernel, constants[2];
    uint32_t kernel_bytes;
    uint32_t put = 0;
    // Address and bytes.
    std::array<uint64_t, 3> programs, program_bytes;
    std::vector<uint64_t> vertices, indices, texels;
    std::vector<uint32_t> vertex_counts, index_counts;
    // Descriptors.
    std::vector<std::vector<uint32_t>> textures;
};
