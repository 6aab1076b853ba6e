// Not a check but a measure: microseconds for each of 20,000 launches of one wave, with one wait at the end, and with a wait after each.
#include <chrono>

#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void count_up(unsigned *value) {
    if (threadIdx.x == 0) *value += 1;
}

int main() {
    const int launches = 20000, waits = 2000;
    unsigned *value, got;
    CHECK(hipMalloc(&value, sizeof *value));
    CHECK(hipMemset(value, 0, sizeof *value));
    count_up<<<1, 64>>>(value);
    CHECK(hipDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    for (int at = 0; at < launches; at++) count_up<<<1, 64>>>(value);
    CHECK(hipDeviceSynchronize());
    auto middle = std::chrono::steady_clock::now();
    for (int at = 0; at < waits; at++) {
        count_up<<<1, 64>>>(value);
        CHECK(hipDeviceSynchronize());
    }
    auto end = std::chrono::steady_clock::now();
    CHECK(hipMemcpy(&got, value, sizeof got, hipMemcpyDeviceToHost));
    equal("launches", got, unsigned(1 + launches + waits));
    std::printf("%.2f us a launch, %.2f us with a wait after each; ",
                std::chrono::duration<double, std::micro>(middle - start).count() / launches,
                std::chrono::duration<double, std::micro>(end - middle).count() / waits);
    return report();
}
