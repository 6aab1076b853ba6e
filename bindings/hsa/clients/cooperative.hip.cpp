// A grid that waits for itself: a cooperative launch with barriers over all blocks, where the card has them.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include "check.hpp"

namespace groups = cooperative_groups;

// In each round a block adds what the block before it had in the round before.
__global__ void rounds(unsigned *values, unsigned *next, int count) {
    groups::grid_group grid = groups::this_grid();
    unsigned block = blockIdx.x, before = (block + gridDim.x - 1) % gridDim.x;
    for (int round = 0; round < count; round++) {
        if (threadIdx.x == 0) next[block] = values[block] * 3 + values[before] + round;
        grid.sync();
        if (threadIdx.x == 0) values[block] = next[block];
        grid.sync();
    }
}

int main() {
    int cooperative = 0;
    CHECK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0));
    if (!cooperative) {
        std::printf("no cooperative launches on this card; ");
        return report();
    }
    unsigned blocks = 12;
    int count = 20;
    std::vector<unsigned> want(blocks);
    for (unsigned at = 0; at < blocks; at++) want[at] = at + 1;
    unsigned *values, *next;
    CHECK(hipMalloc(&values, blocks * sizeof(unsigned)));
    CHECK(hipMalloc(&next, blocks * sizeof(unsigned)));
    CHECK(hipMemcpy(values, want.data(), blocks * sizeof(unsigned), hipMemcpyHostToDevice));
    void *arguments[] = {&values, &next, &count};
    CHECK(hipLaunchCooperativeKernel((void *)rounds, dim3(blocks), dim3(128), arguments, 0, nullptr));
    std::vector<unsigned> got(blocks);
    CHECK(hipMemcpy(got.data(), values, blocks * sizeof(unsigned), hipMemcpyDeviceToHost));
    for (int round = 0; round < count; round++) {
        auto old = want;
        for (unsigned at = 0; at < blocks; at++) want[at] = old[at] * 3 + old[(at + blocks - 1) % blocks] + round;
    }
    same("rounds", got, want);
    return report();
}
