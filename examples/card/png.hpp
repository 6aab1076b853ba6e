// Pictures as files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Writes RGBA8 pixels as PNG, without compression.
void write_png(const std::string &path, uint32_t width, uint32_t height, const std::vector<uint8_t> &pixels);
