// Draws frames with an emulated graphics card: card PROGRAMS OUT [FRAMES [WIDTH HEIGHT]]
//
// PROGRAMS is examples/draw/programs, OUT the folder for the pictures, FAMILY_NUMBER.png. The scene is that of examples/draw. From the
// middle frame on the cube has another texture. During that frame the card is twice saved, destroyed, and restored: between two draws, and
// in the middle of a dispatch, which another engine ends.

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "card.hpp"
#include "driver.hpp"
#include "png.hpp"

namespace {

// Saves a card and makes another one of it.
void move_to(const warpjit_engine *engine, const Family &family, std::optional<Card> &card, Driver &driver)
{
    auto state = card->save();
    card.emplace(engine, family.chip);
    // A state that is cut off is refused.
    for (const size_t bytes : {size_t(0), size_t(7), size_t(100), state.size() - 1}) {
        bool is_refused = false;
        try {
            card->restore({state.begin(), state.begin() + long(bytes)});
        } catch (const std::exception &) {
            is_refused = true;
        }
        if (!is_refused)
            throw std::runtime_error("half a state was accepted");
    }
    card->restore(state);
    driver.move(card->bus());
}

// The engines have other settings, which makes no difference to pictures.
void draw_frames(const warpjit_engine *first, const warpjit_engine *second, const Family &family,
                 const std::string &programs, const std::string &out, uint32_t frames, uint32_t width, uint32_t height)
{
    std::optional<Card> card;
    card.emplace(first, family.chip);
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
                move_to(first, family, card, driver);
            }
        }
        driver.present();
        if (is_middle)
            card->stop_after(height * 4);
        driver.kick();
        if (is_middle) {
            const uint64_t left = card->blocks_left();
            std::printf("%s: stopped, %llu of %u rows left\n", family.name, static_cast<unsigned long long>(left), height);
            move_to(second, family, card, driver);
            if (left == 0 || card->blocks_left() != left)
                throw std::runtime_error("the dispatch was not saved");
            card->go_on();
        }
        driver.finish();
        if (const uint32_t faults = driver.read_register(FAULTS))
            throw std::runtime_error(std::to_string(faults) + " programs have faulted");
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
        auto config = make<warpjit_config>(warpjit_config_new);
        auto first = make<warpjit_engine>(warpjit_engine_new, config.get());
        check(warpjit_config_set_tier(config.get(), WARPJIT_TIER_JIT, 0));
        auto second = make<warpjit_engine>(warpjit_engine_new, config.get());
        for (const Family &family : FAMILIES)
            draw_frames(first.get(), second.get(), family, arguments[1], arguments[2], frames, width, height);
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
}
