// printf in kernels: what they print is caught by a file in the place of standard output, and compared with the C library's.
#include <algorithm>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void say(const char *word, float scale) {
    int lane = threadIdx.x + blockIdx.x * blockDim.x;
    if (lane % 5 == 0) printf("lane %d of block %d: %s %5.2f %x\n", lane, int(blockIdx.x), lane % 2 ? "odd" : "even", lane * scale, lane * 257);
    if (lane == 7) printf("%lld %llu %c %e %p %% %-6d|%06d %.3s\n", -1234567890123ll, 18446744073709551615ull, 'z', 1.5e-8, (void *)0x1234, 42, -17,
                          "truncated");
    if (lane == 8) printf("no arguments\n");
    if (lane == 9) printf("%s\n", "a long text, longer than one packet of seven words of eight bytes, so that it is sent in more than one piece");
}

int main() {
    std::fflush(stdout);
    char name[] = "/tmp/warpjit-printf-XXXXXX";
    int file = mkstemp(name), saved = dup(1);
    dup2(file, 1);
    say<<<3, 64>>>("word", 0.25f);
    hipError_t error = hipDeviceSynchronize();
    std::fflush(stdout);
    dup2(saved, 1);
    CHECK(error);
    lseek(file, 0, SEEK_SET);
    std::string text(100000, ' ');
    ssize_t length = read(file, &text[0], text.size());
    close(file);
    unlink(name);
    text.resize(length < 0 ? 0 : length);
    std::vector<std::string> got, want;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) got.push_back(line);
    char line[300];
    for (int lane = 0; lane < 192; lane += 5) {
        std::snprintf(line, sizeof line, "lane %d of block %d: %s %5.2f %x", lane, lane / 64, lane % 2 ? "odd" : "even", lane * 0.25, lane * 257);
        want.push_back(line);
    }
    std::snprintf(line, sizeof line, "%lld %llu %c %e %p %% %-6d|%06d %.3s", -1234567890123ll, 18446744073709551615ull, 'z', 1.5e-8,
                  (void *)0x1234, 42, -17, "truncated");
    want.push_back(line);
    want.push_back("no arguments");
    want.push_back("a long text, longer than one packet of seven words of eight bytes, so that it is sent in more than one piece");
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    equal("lines", got.size(), want.size());
    for (size_t at = 0; at < std::min(got.size(), want.size()); at++)
        if (got[at] != want[at]) differs("line", "\"" + got[at] + "\" instead of \"" + want[at] + "\"");
    return report();
}
