// What the lanes of a wave tell each other: shuffles, votes, ds_swizzle, ds_permute, DPP, reads and writes of one lane.
#include <functional>

#include <hip/hip_runtime.h>

#include "check.hpp"

// One row of 64 results for each of these.
enum Row {
    SHFL, SHFL_16, UP, UP_32, DOWN, DOWN_8, XOR, XOR_16, SHFL_DOUBLE, BALLOT_LOW, BALLOT_HIGH, BALLOT_SOME, ANY, ALL, MBCNT, SWAP_SWIZZLE,
    REVERSE_SWIZZLE, BROADCAST_SWIZZLE, QUAD_SWIZZLE, BPERMUTE, PERMUTE, QUAD_DPP, ROW_SHL, ROW_SHR, ROW_ROR, WAVE_SHR, WAVE_ROL, MIRROR,
    HALF_MIRROR, ROW_BCAST, DPP_MASKED, DPP_BOUND, READLANE, FIRSTLANE, WRITELANE, SUM, LANE_ID, ACTIVE, ROWS
};

__device__ int value_of(int lane) { return lane * 1103515245 + 12345; }

__global__ void cross(int *out) {
    int lane = threadIdx.x;
    int value = value_of(lane);
    auto put = [&](Row row, int result) { out[row * 64 + lane] = result; };
    put(SHFL, __shfl(value, (lane * 7 + 3) % 64));
    put(SHFL_16, __shfl(value, (lane + 5) % 16, 16));
    put(UP, __shfl_up(value, 3));
    put(UP_32, __shfl_up(value, 9, 32));
    put(DOWN, __shfl_down(value, 13));
    put(DOWN_8, __shfl_down(value, 2, 8));
    put(XOR, __shfl_xor(value, 37));
    put(XOR_16, __shfl_xor(value, 5, 16));
    put(SHFL_DOUBLE, int(__shfl(double(value) * 0.5, 63 - lane) * 2.0));
    unsigned long long vote = __ballot(value & 64);
    put(BALLOT_LOW, int(vote));
    put(BALLOT_HIGH, int(vote >> 32));
    if (lane % 3 == 0) {
        vote = __ballot(value & 128);
        put(BALLOT_SOME, __popcll(vote));
        put(ACTIVE, int(__builtin_amdgcn_read_exec() >> 20));
        put(FIRSTLANE, __builtin_amdgcn_readfirstlane(value));
    } else {
        put(BALLOT_SOME, -1);
        put(ACTIVE, -1);
        put(FIRSTLANE, -1);
    }
    put(ANY, __any(lane == 41) * 2 + __any(lane > 64));
    put(ALL, __all(lane < 64) * 2 + __all(lane < 63));
    put(MBCNT, __builtin_amdgcn_mbcnt_hi(0x5555aaaa, __builtin_amdgcn_mbcnt_lo(0x0ff00ff0, 1000)));
    put(SWAP_SWIZZLE, __builtin_amdgcn_ds_swizzle(value, 0x041f));
    put(REVERSE_SWIZZLE, __builtin_amdgcn_ds_swizzle(value, 0x7c1f));
    put(BROADCAST_SWIZZLE, __builtin_amdgcn_ds_swizzle(value, 0x00f8));
    put(QUAD_SWIZZLE, __builtin_amdgcn_ds_swizzle(value, 0x8000 | 0x39));
    put(BPERMUTE, __builtin_amdgcn_ds_bpermute((lane * 11 + 70) * 4, value));
    put(PERMUTE, __builtin_amdgcn_ds_permute((lane * 5 + 1) * 4, value));
    put(QUAD_DPP, __builtin_amdgcn_update_dpp(-1, value, 0x1b, 0xf, 0xf, false));
    put(ROW_SHL, __builtin_amdgcn_update_dpp(-1, value, 0x103, 0xf, 0xf, false));
    put(ROW_SHR, __builtin_amdgcn_update_dpp(-1, value, 0x112, 0xf, 0xf, false));
    put(ROW_ROR, __builtin_amdgcn_update_dpp(-1, value, 0x125, 0xf, 0xf, false));
    put(WAVE_SHR, __builtin_amdgcn_update_dpp(-1, value, 0x138, 0xf, 0xf, false));
    put(WAVE_ROL, __builtin_amdgcn_update_dpp(-1, value, 0x134, 0xf, 0xf, false));
    put(MIRROR, __builtin_amdgcn_update_dpp(-1, value, 0x140, 0xf, 0xf, false));
    put(HALF_MIRROR, __builtin_amdgcn_update_dpp(-1, value, 0x141, 0xf, 0xf, false));
    put(ROW_BCAST, __builtin_amdgcn_update_dpp(-1, value, 0x142, 0xa, 0xf, false));
    put(DPP_MASKED, __builtin_amdgcn_update_dpp(7, value, 0x111, 0x5, 0x9, false));
    put(DPP_BOUND, __builtin_amdgcn_update_dpp(7, value, 0x112, 0xf, 0xf, true));
    put(READLANE, __builtin_amdgcn_readlane(value, 29));
    put(WRITELANE, lane == 17 ? __builtin_amdgcn_readlane(value, 3) : value);
    int sum = value;
    for (int step = 32; step > 0; step /= 2) sum += __shfl_xor(sum, step);
    put(SUM, sum);
    put(LANE_ID, __lane_id());
}

int main() {
    int *card;
    CHECK(hipMalloc(&card, ROWS * 64 * sizeof(int)));
    CHECK(hipMemset(card, 0, ROWS * 64 * sizeof(int)));
    cross<<<1, 64>>>(card);
    std::vector<int> got(ROWS * 64);
    CHECK(hipMemcpy(got.data(), card, got.size() * sizeof(int), hipMemcpyDeviceToHost));

    auto value = [](int lane) { return int(unsigned(lane) * 1103515245u + 12345u); };
    auto check = [&](Row row, const char *name, std::function<int(int)> want) {
        std::vector<int> wanted;
        for (int lane = 0; lane < 64; lane++) wanted.push_back(want(lane));
        same(name, std::vector<int>(got.begin() + row * 64, got.begin() + row * 64 + 64), wanted);
    };
    // What lane gets from lane `from`, or -1 if there is none in the row of 16.
    auto in_row = [&](int lane, int from) { return from >= 0 && from < 64 && from / 16 == lane / 16 ? value(from) : -1; };
    unsigned long long vote = 0, third = 0;
    int some = 0;
    unsigned sum = 0;
    for (int lane = 0; lane < 64; lane++) {
        vote |= (unsigned long long)((value(lane) & 64) != 0) << lane;
        if (lane % 3 == 0) {
            third |= 1ull << lane;
            some += (value(lane) & 128) != 0;
        }
        sum += unsigned(value(lane));
    }
    check(SHFL, "shfl", [&](int lane) { return value((lane * 7 + 3) % 64); });
    check(SHFL_16, "shfl of 16", [&](int lane) { return value(lane / 16 * 16 + (lane + 5) % 16); });
    check(UP, "shfl_up", [&](int lane) { return value(lane < 3 ? lane : lane - 3); });
    check(UP_32, "shfl_up of 32", [&](int lane) { return value(lane % 32 < 9 ? lane : lane - 9); });
    check(DOWN, "shfl_down", [&](int lane) { return value(lane + 13 > 63 ? lane : lane + 13); });
    check(DOWN_8, "shfl_down of 8", [&](int lane) { return value(lane % 8 + 2 > 7 ? lane : lane + 2); });
    check(XOR, "shfl_xor", [&](int lane) { return value(lane ^ 37); });
    check(XOR_16, "shfl_xor of 16", [&](int lane) { return value(lane ^ 5); });
    check(SHFL_DOUBLE, "shfl of double", [&](int lane) { return value(63 - lane); });
    check(BALLOT_LOW, "ballot, low half", [&](int) { return int(vote); });
    check(BALLOT_HIGH, "ballot, high half", [&](int) { return int(vote >> 32); });
    check(BALLOT_SOME, "ballot of a third", [&](int lane) { return lane % 3 == 0 ? some : -1; });
    check(ACTIVE, "exec", [&](int lane) { return lane % 3 == 0 ? int(third >> 20) : -1; });
    check(FIRSTLANE, "readfirstlane", [&](int lane) { return lane % 3 == 0 ? value(0) : -1; });
    check(ANY, "any", [&](int) { return 2; });
    check(ALL, "all", [&](int) { return 2; });
    check(MBCNT, "mbcnt", [&](int lane) {
        unsigned long long below = (1ull << lane) - 1;
        return 1000 + __builtin_popcountll(0x5555aaaa0ff00ff0ull & below);
    });
    check(SWAP_SWIZZLE, "swizzle, swap", [&](int lane) { return value(lane ^ 1); });
    check(REVERSE_SWIZZLE, "swizzle, reverse", [&](int lane) { return value(lane ^ 31); });
    check(BROADCAST_SWIZZLE, "swizzle, broadcast", [&](int lane) { return value((lane & 32) | ((lane & 0x18) | 7)); });
    check(QUAD_SWIZZLE, "swizzle, quad", [&](int lane) { return value(lane / 4 * 4 + (0x39 >> lane % 4 * 2 & 3)); });
    check(BPERMUTE, "ds_bpermute", [&](int lane) { return value((lane * 11 + 70) % 64); });
    check(PERMUTE, "ds_permute", [&](int lane) {
        for (int from = 63; from >= 0; from--)
            if ((from * 5 + 1) % 64 == lane) return value(from);
        return 0;
    });
    check(QUAD_DPP, "dpp quad_perm", [&](int lane) { return value(lane / 4 * 4 + 3 - lane % 4); });
    check(ROW_SHL, "dpp row_shl", [&](int lane) { return in_row(lane, lane + 3); });
    check(ROW_SHR, "dpp row_shr", [&](int lane) { return in_row(lane, lane - 2); });
    check(ROW_ROR, "dpp row_ror", [&](int lane) { return value(lane / 16 * 16 + (lane + 16 - 5) % 16); });
    check(WAVE_SHR, "dpp wave_shr", [&](int lane) { return lane == 0 ? -1 : value(lane - 1); });
    check(WAVE_ROL, "dpp wave_rol", [&](int lane) { return value((lane + 1) % 64); });
    check(MIRROR, "dpp row_mirror", [&](int lane) { return value(lane / 16 * 16 + 15 - lane % 16); });
    check(HALF_MIRROR, "dpp row_half_mirror", [&](int lane) { return value(lane / 8 * 8 + 7 - lane % 8); });
    check(ROW_BCAST, "dpp row_bcast:15", [&](int lane) { return lane / 16 % 2 == 1 ? value(lane / 16 * 16 - 1) : -1; });
    check(DPP_MASKED, "dpp with masks", [&](int lane) {
        bool row = 0x5 >> lane / 16 & 1, bank = 0x9 >> lane / 4 % 4 & 1;
        return row && bank && lane % 16 > 0 ? value(lane - 1) : 7;
    });
    check(DPP_BOUND, "dpp bound_ctrl", [&](int lane) { return lane % 16 >= 2 ? value(lane - 2) : 0; });
    check(READLANE, "readlane", [&](int) { return value(29); });
    check(WRITELANE, "one lane", [&](int lane) { return value(lane == 17 ? 3 : lane); });
    check(SUM, "sum by shfl_xor", [&](int) { return int(sum); });
    check(LANE_ID, "lane_id", [&](int lane) { return lane; });
    return report();
}
