// What the programs of this folder share: a check of each call's error, comparisons with what the CPU has computed, and the last line.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <hip/hip_runtime.h>

// Ends the program if a call of HIP has failed.
#define CHECK(call)                                                                                                  \
    do {                                                                                                             \
        hipError_t error_ = (call);                                                                                  \
        if (error_ != hipSuccess) {                                                                                  \
            std::printf("FAILED: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error_));            \
            std::fflush(stdout);                                                                                     \
            std::_Exit(1);                                                                                           \
        }                                                                                                            \
    } while (0)

// How many comparisons were made and how many differed.
inline int checks_made = 0;
inline int checks_failed = 0;

// Says on one line what differs, for the first few differences.
inline void differs(const std::string &what, const std::string &how) {
    if (checks_failed++ < 10) std::printf("%s: %s\n", what.c_str(), how.c_str());
}

inline void holds(const std::string &what, bool is_so) {
    checks_made++;
    if (!is_so) differs(what, "does not hold");
}

template <class T> std::string shown(T value) {
    if constexpr (std::is_floating_point_v<T>) {
        char text[40];
        std::snprintf(text, sizeof text, "%.9g", double(value));
        return text;
    } else {
        return std::to_string(value);
    }
}

// Each element must be the same, bit for bit.
template <class T> void same(const std::string &what, const std::vector<T> &got, const std::vector<T> &want) {
    checks_made++;
    if (got.size() != want.size()) {
        differs(what, std::to_string(got.size()) + " elements instead of " + std::to_string(want.size()));
        return;
    }
    for (size_t at = 0; at < got.size(); at++) {
        if (std::memcmp(&got[at], &want[at], sizeof(T)) != 0) {
            differs(what, "[" + std::to_string(at) + "] is " + shown(got[at]) + " instead of " + shown(want[at]));
            return;
        }
    }
}

// Each element must be as wanted within `part` of its size, or of 1 where it is smaller than that.
template <class T>
void near(const std::string &what, const std::vector<T> &got, const std::vector<T> &want, double part) {
    checks_made++;
    if (got.size() != want.size()) {
        differs(what, std::to_string(got.size()) + " elements instead of " + std::to_string(want.size()));
        return;
    }
    for (size_t at = 0; at < got.size(); at++) {
        double size = std::fmax(1.0, std::fabs(double(want[at])));
        if (!(std::fabs(double(got[at]) - double(want[at])) <= part * size)) {
            differs(what, "[" + std::to_string(at) + "] is " + shown(got[at]) + " instead of " + shown(want[at]));
            return;
        }
    }
}

template <class T> void equal(const std::string &what, T got, T want) {
    checks_made++;
    if (!(got == want)) differs(what, shown(got) + " instead of " + shown(want));
}

// A small generator, so that all hosts have the same numbers.
struct Numbers {
    unsigned long long state;
    explicit Numbers(unsigned long long seed) : state(seed * 2654435769u + 1) {}
    unsigned next() {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return unsigned(state >> 33) ^ unsigned(state >> 17);
    }
    float unit() { return float(next() >> 8) / float(1 << 24); }
};

// The program's last line and exit status.
inline int report() {
    if (checks_failed == 0) {
        std::printf("ok (%d checks)\n", checks_made);
        return 0;
    }
    std::printf("FAILED: %d of %d checks differ\n", checks_failed, checks_made);
    return 1;
}
