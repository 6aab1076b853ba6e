// Atomic operations of all widths on device memory, shared memory and host memory: sums that do not depend on the order, and what each
// operation gives back.
#include <algorithm>

#include <hip/hip_runtime.h>

#include "check.hpp"

constexpr int GROUPS = 24;
constexpr int SIZE = 256;
constexpr int LANES = GROUPS * SIZE;

// What each operation is done on, once in device memory and once in shared memory.
struct Cells {
    int sum, least, most;
    unsigned sub, all, any, odd, wrapped_up, wrapped_down, unsigned_least, unsigned_most, swapped;
    unsigned long long long_sum, long_least, long_most, long_all, long_any, long_odd, long_swapped, long_cas;
    long long signed_least, signed_most;
    float float_sum, float_most;
    double double_sum;
    unsigned bytes[4];
    unsigned halves[2];
};

// An 8-bit or 16-bit sum by compare and swap of the word around it.
template <class T> __device__ void add_part(unsigned *words, int index, T value) {
    constexpr int parts = 4 / sizeof(T);
    unsigned *word = words + index / parts;
    int shift = index % parts * 8 * int(sizeof(T));
    unsigned mask = ((sizeof(T) == 1 ? 0xffu : 0xffffu)) << shift;
    unsigned seen = *(volatile unsigned *)word;
    for (;;) {
        unsigned part = ((seen & mask) >> shift) + value;
        unsigned next = (seen & ~mask) | (part << shift & mask);
        unsigned was = atomicCAS(word, seen, next);
        if (was == seen) return;
        seen = was;
    }
}

__device__ void work(Cells *cells, unsigned lane) {
    int value = int(lane * 2654435761u >> 8) - 8000000;
    unsigned long long wide = (unsigned long long)lane * 0x9e3779b97f4a7c15ull;
    atomicAdd(&cells->sum, value);
    atomicMin(&cells->least, value);
    atomicMax(&cells->most, value);
    atomicSub(&cells->sub, lane);
    atomicAnd(&cells->all, ~(1u << (lane % 29)) | 0xf0000000u);
    atomicOr(&cells->any, 1u << (lane % 23));
    atomicXor(&cells->odd, lane * 77u);
    atomicInc(&cells->wrapped_up, 1000);
    atomicDec(&cells->wrapped_down, 1000);
    atomicMin(&cells->unsigned_least, unsigned(value));
    atomicMax(&cells->unsigned_most, unsigned(value));
    atomicExch(&cells->swapped, lane);
    atomicAdd(&cells->long_sum, wide);
    atomicMin(&cells->long_least, wide);
    atomicMax(&cells->long_most, wide);
    atomicAnd(&cells->long_all, ~(1ull << (lane % 61)));
    atomicOr(&cells->long_any, 1ull << (lane % 57));
    atomicXor(&cells->long_odd, wide);
    atomicExch(&cells->long_swapped, wide);
    __hip_atomic_fetch_min(&cells->signed_least, (long long)wide, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_fetch_max(&cells->signed_most, (long long)wide, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    unsigned long long seen = cells->long_cas, next;
    do {
        next = seen;
        seen = atomicCAS(&cells->long_cas, next, next + 3);
    } while (seen != next);
    atomicAdd(&cells->float_sum, float(lane % 16));
    __hip_atomic_fetch_max(&cells->float_most, float(value), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    atomicAdd(&cells->double_sum, double(value));
    add_part<unsigned char>(cells->bytes, lane % 16, (unsigned char)(lane));
    add_part<unsigned short>(cells->halves, lane % 4, (unsigned short)(lane));
}

__host__ __device__ inline void begin(Cells *cells) {
    unsigned char *bytes = (unsigned char *)cells;
    for (size_t at = 0; at < sizeof(Cells); at++) bytes[at] = 0;
    cells->all = cells->unsigned_least = ~0u;
    cells->long_least = cells->long_all = ~0ull;
    cells->float_most = -1e9f;
}

__global__ void on_memory(Cells *cells) { work(cells, blockIdx.x * blockDim.x + threadIdx.x); }

__global__ void on_shared(Cells *cells) {
    __shared__ Cells own;
    if (threadIdx.x == 0) begin(&own);
    __syncthreads();
    work(&own, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) cells[blockIdx.x] = own;
}

// Each lane keeps what its operations gave back.
__global__ void tickets(unsigned *next, unsigned *taken, unsigned long long *long_next, unsigned long long *long_taken, unsigned *up,
                        unsigned *ups) {
    unsigned lane = blockIdx.x * blockDim.x + threadIdx.x;
    taken[lane] = atomicAdd(next, 1u);
    long_taken[lane] = atomicAdd(long_next, 0x100000001ull);
    ups[lane] = atomicInc(up, 99u);
}

// The same on the CPU, for lanes 0 to count - 1.
static Cells wanted(unsigned count) {
    Cells cells;
    begin(&cells);
    for (unsigned lane = 0; lane < count; lane++) {
        int value = int(lane * 2654435761u >> 8) - 8000000;
        unsigned long long wide = (unsigned long long)lane * 0x9e3779b97f4a7c15ull;
        cells.sum = int(unsigned(cells.sum) + unsigned(value));
        cells.least = std::min(cells.least, value);
        cells.most = std::max(cells.most, value);
        cells.sub -= lane;
        cells.all &= ~(1u << (lane % 29)) | 0xf0000000u;
        cells.any |= 1u << (lane % 23);
        cells.odd ^= lane * 77u;
        cells.wrapped_up = cells.wrapped_up >= 1000 ? 0 : cells.wrapped_up + 1;
        cells.wrapped_down = cells.wrapped_down == 0 || cells.wrapped_down > 1000 ? 1000 : cells.wrapped_down - 1;
        cells.unsigned_least = std::min(cells.unsigned_least, unsigned(value));
        cells.unsigned_most = std::max(cells.unsigned_most, unsigned(value));
        cells.long_sum += wide;
        cells.long_least = std::min(cells.long_least, wide);
        cells.long_most = std::max(cells.long_most, wide);
        cells.long_all &= ~(1ull << (lane % 61));
        cells.long_any |= 1ull << (lane % 57);
        cells.long_odd ^= wide;
        cells.signed_least = std::min(cells.signed_least, (long long)wide);
        cells.signed_most = std::max(cells.signed_most, (long long)wide);
        cells.long_cas += 3;
        cells.float_sum += float(lane % 16);
        cells.float_most = std::max(cells.float_most, float(value));
        cells.double_sum += double(value);
        ((unsigned char *)cells.bytes)[lane % 16] += (unsigned char)lane;
        ((unsigned short *)cells.halves)[lane % 4] += (unsigned short)lane;
    }
    return cells;
}

static void compare(const std::string &where, const Cells &got, const Cells &want, unsigned count) {
#define FIELD(name) equal(where + " " #name, got.name, want.name)
    FIELD(sum), FIELD(least), FIELD(most), FIELD(sub), FIELD(all), FIELD(any), FIELD(odd), FIELD(wrapped_up), FIELD(wrapped_down);
    FIELD(unsigned_least), FIELD(unsigned_most), FIELD(long_sum), FIELD(long_least), FIELD(long_most), FIELD(long_all);
    FIELD(long_any), FIELD(long_odd), FIELD(signed_least), FIELD(signed_most), FIELD(long_cas), FIELD(float_sum);
    FIELD(float_most), FIELD(double_sum);
    for (int at = 0; at < 4; at++) equal(where + " bytes", got.bytes[at], want.bytes[at]);
    for (int at = 0; at < 2; at++) equal(where + " halves", got.halves[at], want.halves[at]);
    holds(where + " swapped", got.swapped < count);
    holds(where + " long_swapped", got.long_swapped % 0x9e3779b97f4a7c15ull == 0 || got.long_swapped != 0);
}

int main() {
    Cells start, got;
    begin(&start);
    Cells *on_card, *shared_cells, *on_host;
    CHECK(hipMalloc(&on_card, sizeof(Cells)));
    CHECK(hipMemcpy(on_card, &start, sizeof(Cells), hipMemcpyHostToDevice));
    on_memory<<<GROUPS, SIZE>>>(on_card);
    CHECK(hipMemcpy(&got, on_card, sizeof(Cells), hipMemcpyDeviceToHost));
    compare("device memory", got, wanted(LANES), LANES);

    CHECK(hipMalloc(&shared_cells, GROUPS * sizeof(Cells)));
    on_shared<<<GROUPS, SIZE>>>(shared_cells);
    std::vector<Cells> each(GROUPS);
    CHECK(hipMemcpy(each.data(), shared_cells, GROUPS * sizeof(Cells), hipMemcpyDeviceToHost));
    Cells want = wanted(SIZE);
    for (auto &cells : each) compare("shared memory", cells, want, SIZE);

    CHECK(hipHostMalloc((void **)&on_host, sizeof(Cells), hipHostMallocDefault));
    *on_host = start;
    on_memory<<<GROUPS, SIZE>>>(on_host);
    CHECK(hipDeviceSynchronize());
    compare("host memory", *on_host, wanted(LANES), LANES);

    unsigned *next, *taken, *up, *ups;
    unsigned long long *long_next, *long_taken;
    CHECK(hipMalloc(&next, 4));
    CHECK(hipMalloc(&up, 4));
    CHECK(hipMalloc(&long_next, 8));
    CHECK(hipMalloc(&taken, LANES * 4));
    CHECK(hipMalloc(&ups, LANES * 4));
    CHECK(hipMalloc(&long_taken, LANES * 8));
    CHECK(hipMemset(next, 0, 4));
    CHECK(hipMemset(up, 0, 4));
    CHECK(hipMemset(long_next, 0, 8));
    tickets<<<GROUPS, SIZE>>>(next, taken, long_next, long_taken, up, ups);
    std::vector<unsigned> numbers(LANES), turns(LANES), in_order(LANES), turns_in_order(LANES);
    std::vector<unsigned long long> wide(LANES), wide_in_order(LANES);
    CHECK(hipMemcpy(numbers.data(), taken, LANES * 4, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(turns.data(), ups, LANES * 4, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(wide.data(), long_taken, LANES * 8, hipMemcpyDeviceToHost));
    std::sort(numbers.begin(), numbers.end());
    std::sort(turns.begin(), turns.end());
    std::sort(wide.begin(), wide.end());
    for (int lane = 0; lane < LANES; lane++) {
        in_order[lane] = lane;
        turns_in_order[lane] = lane % 100;
        wide_in_order[lane] = lane * 0x100000001ull;
    }
    std::sort(turns_in_order.begin(), turns_in_order.end());
    same("tickets", numbers, in_order);
    same("turns", turns, turns_in_order);
    same("wide tickets", wide, wide_in_order);
    return report();
}
