#include "png.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace {

using Bytes = std::vector<uint8_t>;

void big_endian(Bytes &out, uint32_t value)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        out.push_back(uint8_t(value >> shift));
}

void chunk(Bytes &out, const std::string &kind, const Bytes &content)
{
    big_endian(out, uint32_t(content.size()));
    const size_t start = out.size();
    out.insert(out.end(), kind.begin(), kind.end());
    out.insert(out.end(), content.begin(), content.end());
    uint32_t crc = ~0U;
    for (size_t at = start; at < out.size(); at++) {
        crc ^= out[at];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    big_endian(out, ~crc);
}

} // namespace

void write_png(const std::string &path, uint32_t width, uint32_t height, const std::vector<uint8_t> &pixels)
{
    Bytes rows;
    for (size_t y = 0; y < height; y++) {
        rows.push_back(0);
        rows.insert(rows.end(), pixels.begin() + y * width * 4, pixels.begin() + (y + 1) * width * 4);
    }
    // Zlib: stored blocks of at most 65535 bytes, and a checksum.
    Bytes data = {0x78, 0x01};
    uint32_t a = 1, b = 0;
    for (size_t at = 0; at < rows.size();) {
        const size_t count = std::min<size_t>(rows.size() - at, 65535);
        const auto size = uint16_t(count), inverse = uint16_t(~size);
        data.insert(data.end(), {uint8_t(at + count == rows.size()), uint8_t(size), uint8_t(size >> 8), uint8_t(inverse),
                                 uint8_t(inverse >> 8)});
        for (size_t k = 0; k < count; k++) {
            a = (a + rows[at + k]) % 65521;
            b = (b + a) % 65521;
        }
        data.insert(data.end(), rows.begin() + at, rows.begin() + at + count);
        at += count;
    }
    big_endian(data, b << 16 | a);

    Bytes header;
    big_endian(header, width);
    big_endian(header, height);
    header.insert(header.end(), {8, 6, 0, 0, 0});
    Bytes out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    chunk(out, "IHDR", header);
    chunk(out, "IDAT", data);
    chunk(out, "IEND", {});
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(out.data()), std::streamsize(out.size()));
    if (!file.flush())
        throw std::runtime_error("cannot write " + path);
}
