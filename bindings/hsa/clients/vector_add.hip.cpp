// The smallest HIP program: c = a + b for a length that is no multiple of the group, by a kernel of this file.
#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void add(const float *a, const float *b, float *c, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) c[at] = a[at] + b[at];
}

int main() {
    const int count = 100003;
    std::vector<float> a(count), b(count), sum(count), want(count);
    for (int at = 0; at < count; at++) {
        a[at] = at * 0.25f;
        b[at] = 1000.0f - at;
        want[at] = a[at] + b[at];
    }
    float *card_a, *card_b, *card_c;
    CHECK(hipMalloc(&card_a, count * sizeof(float)));
    CHECK(hipMalloc(&card_b, count * sizeof(float)));
    CHECK(hipMalloc(&card_c, count * sizeof(float)));
    CHECK(hipMemcpy(card_a, a.data(), count * sizeof(float), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(card_b, b.data(), count * sizeof(float), hipMemcpyHostToDevice));
    add<<<(count + 255) / 256, 256>>>(card_a, card_b, card_c, count);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(sum.data(), card_c, count * sizeof(float), hipMemcpyDeviceToHost));
    same("sum", sum, want);
    CHECK(hipFree(card_a));
    CHECK(hipFree(card_b));
    CHECK(hipFree(card_c));
    return report();
}
