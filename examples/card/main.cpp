// Draws frames with an emulated graphics card: card PROGRAMS OUT [FRAMES [WIDTH HEIGHT]]
//
// PROGRAMS is examples/draw/programs, OUT the folder for the pictures, FAMILY_NUMBER.png. The scene is that of examples/draw. From the
// middle frame on the cube has another texture. In the middle of that frame the card is saved, destroyed, and restored.

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "card.hpp"
#include "driver.hpp"
#include "png.hpp"

namespace {

void draw_frames(const warpjit_engine *engine, const Family &family, const std::string &programs, const std::string &out,
                 uint32_t frames, uint32_t width, uint32_t height)
{
    std::optional<Card> card;
    card.emplace(engine, family.chip);
    Driver driver(card->bus(), family, programs, width, height);
    for (uint32_t number = 0; number < frames; number++) {
        const bool is_middle = number == frames / 2;
        if (is_middle)
            driver.change_texture(1, tiles(256));
        driver.clear();
        const auto draws = frame(number, float(width) / float(height));
        for (size_t n = 0; n < draws.size(); n++) {
            driver.draw(draws[n]);
            if (is_middle && n + 1 == draws.size() / 2) {
                driver.kick();
                const auto state = card->save();
                card.emplace(engine, family.chip);
                card->restore(state);
                driver.move(card->bus());
            }
        }
        driver.kick();
        if (const uint32_t faults = driver.read_register(FAULTS))
            throw std::runtime_error(std::to_string(faults) + " draws have faulted");
        char name[64];
        std::snprintf(name, sizeof name, "/%s_%04u.png", family.name, number);
        write_png(out + name, width, height, driver.picture());
        std::printf("%s\n", name + 1);
    }
}

} // namespace

int main(int count, char **arguments)
{
    const auto number = [&](int at, uint32_t otherwise) {
        return count > at ? uint32_t(std::strtoul(arguments[at], nullptr, 10)) : otherwise;
    };
    const uint32_t frames = number(3, 4), width = number(4, 640), height = number(5, 480);
    if (count < 3 || frames == 0 || width == 0 || height == 0 || width % 2 || height % 2 || width > 1024 || height > 1024) {
        std::fprintf(stderr, "usage: card PROGRAMS OUT [FRAMES [WIDTH HEIGHT]], both even and at most 1024\n");
        return 2;
    }
    try {
        auto engine = make<warpjit_engine>(warpjit_engine_new, nullptr);
        for (const Family &family : FAMILIES)
            draw_frames(engine.get(), family, arguments[1], arguments[2], frames, width, height);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
