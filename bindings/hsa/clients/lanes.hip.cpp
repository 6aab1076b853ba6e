// Lanes that go their own ways: votes in loops that lanes leave one by one, room that a wave takes by one atomic, objects and lists that
// kernels allocate, locks of lanes, groups that talk, and atomics of host and kernel on the same word.
#include <algorithm>

#include <hip/hip_runtime.h>

#include "check.hpp"

__host__ __device__ inline unsigned mixed(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    x *= 0x846ca68b;
    return x ^ x >> 16;
}

// Collatz' steps. In each round a lane adds how many of the lanes that are left have odd numbers.
__global__ void collatz(const unsigned *in, unsigned *steps, unsigned long long *votes) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long value = in[at], seen = 0;
    unsigned count = 0;
    while (value != 1) {
        seen = seen * 31 + __popcll(__ballot(value & 1));
        value = value & 1 ? 3 * value + 1 : value / 2;
        count++;
    }
    steps[at] = count;
    votes[at] = seen;
}

// Keeps some numbers: the first lane that has one takes room for all of its wave.
__global__ void keep(const unsigned *in, unsigned *out, unsigned *count, int all) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= all || in[at] % 3 != 1) return;
    unsigned long long lanes = __ballot(1);
    int first = __ffsll(lanes) - 1, lane = __lane_id();
    unsigned start = 0;
    if (lane == first) start = atomicAdd(count, __popcll(lanes));
    start = __shfl(int(start), first);
    out[start + __popcll(lanes & ((1ull << lane) - 1))] = in[at];
}

struct Function {
    __device__ virtual double of(double x) const = 0;
    __device__ virtual ~Function() {}
};

struct Square : Function {
    double more;
    __device__ explicit Square(double more) : more(more) {}
    __device__ double of(double x) const override { return x * x + more; }
};

struct Both : Function {
    Function *outer, *inner;
    __device__ Both(Function *outer, Function *inner) : outer(outer), inner(inner) {}
    __device__ double of(double x) const override { return outer->of(inner->of(x)); }
};

__global__ void make(Function **all) {
    if (threadIdx.x > 0) return;
    all[0] = new Square(1.5);
    all[1] = new Square(-0.25);
    all[2] = new Both(all[0], all[1]);
    all[3] = new Both(all[2], all[0]);
}

__global__ void use(Function **all, double *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) out[at] = all[mixed(at) % 4]->of(at * 0.0078125);
}

struct Node {
    int value;
    Node *next;
};

__global__ void lists(long long *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    Node *first = nullptr;
    for (int item = 0; item < int(mixed(at) % 9); item++) {
        Node *node = (Node *)malloc(sizeof(Node));
        *node = {at * 10 + item, first};
        first = node;
    }
    long long sum = 0;
    while (first) {
        sum = sum * 7 + first->value;
        Node *gone = first;
        first = first->next;
        free(gone);
    }
    out[at] = sum;
}

__global__ void locked(int *lock, volatile int *value) {
    for (int lane = 0; lane < 64; lane++) {
        if (int(threadIdx.x % 64) != lane) continue;
        while (atomicCAS(lock, 0, 1) != 0) {}
        __threadfence();
        *value = *value + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// The first group hands numbers to the second, eight at a time.
__global__ void hand_over(volatile int *places, int *sum, int count) {
    if (threadIdx.x > 0) return;
    unsigned total = 0;
    for (int at = 1; at <= count; at++) {
        volatile int &place = places[at % 8];
        if (blockIdx.x == 0) {
            while (place != 0) {}
            place = at;
        } else {
            while (place != at) {}
            total = total * 3 + at;
            place = 0;
        }
        __threadfence();
    }
    if (blockIdx.x == 1) *sum = int(total);
}

__global__ void count_with_host(int *counter, int *stop, int *mine) {
    if (threadIdx.x > 0) return;
    int rounds = 0;
    while (!__hip_atomic_load(stop, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)) {
        __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        rounds++;
        __builtin_amdgcn_s_sleep(2);
    }
    *mine = rounds;
}

template <class T> static T *zeros(size_t count) {
    T *card;
    CHECK(hipMalloc(&card, count * sizeof(T)));
    CHECK(hipMemset(card, 0, count * sizeof(T)));
    return card;
}

template <class T> static std::vector<T> read(const T *card, size_t count) {
    std::vector<T> values(count);
    CHECK(hipMemcpy(values.data(), card, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

int main() {
    const int waves = 20, count = 64 * waves;
    std::vector<unsigned> numbers(count);
    for (int at = 0; at < count; at++) numbers[at] = mixed(at) % 100000 + 1;
    unsigned *in = zeros<unsigned>(count), *steps = zeros<unsigned>(count), *kept = zeros<unsigned>(count), *found = zeros<unsigned>(1);
    auto *votes = zeros<unsigned long long>(count);
    CHECK(hipMemcpy(in, numbers.data(), count * sizeof(unsigned), hipMemcpyHostToDevice));
    collatz<<<waves, 64>>>(in, steps, votes);
    std::vector<unsigned> steps_want(count);
    std::vector<unsigned long long> votes_want(count);
    for (int wave = 0; wave < waves; wave++) {
        unsigned long long value[64];
        for (int lane = 0; lane < 64; lane++) value[lane] = numbers[wave * 64 + lane];
        for (bool any = true; any;) {
            int odd = 0;
            any = false;
            for (auto one : value) odd += one != 1 && one & 1;
            for (int lane = 0; lane < 64; lane++) {
                if (value[lane] == 1) continue;
                any = true;
                votes_want[wave * 64 + lane] = votes_want[wave * 64 + lane] * 31 + odd;
                steps_want[wave * 64 + lane]++;
                value[lane] = value[lane] & 1 ? 3 * value[lane] + 1 : value[lane] / 2;
            }
        }
    }
    same("steps", read(steps, count), steps_want);
    same("votes of the lanes that are left", read(votes, count), votes_want);

    keep<<<(count - 7 + 255) / 256, 256>>>(in, kept, found, count - 7);
    std::vector<unsigned> want;
    for (int at = 0; at < count - 7; at++)
        if (numbers[at] % 3 == 1) want.push_back(numbers[at]);
    equal("how many are kept", read(found, 1)[0], unsigned(want.size()));
    auto got = read(kept, want.size());
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    same("what is kept", got, want);

    auto **functions = zeros<Function *>(4);
    double *values = zeros<double>(count);
    make<<<1, 64>>>(functions);
    use<<<(count + 95) / 96, 96>>>(functions, values, count);
    std::vector<double> values_want(count);
    for (int at = 0; at < count; at++) {
        double x = at * 0.0078125;
        unsigned which = mixed(at) % 4;
        if (which == 3) x = x * x + 1.5;
        if (which != 0) x = x * x - 0.25;
        if (which != 1) x = x * x + 1.5;
        values_want[at] = x;
    }
    near("objects of a kernel", read(values, count), values_want, 1e-14);

    auto *sums = zeros<long long>(count);
    lists<<<(count + 63) / 64, 64>>>(sums, count);
    std::vector<long long> sums_want(count);
    for (int at = 0; at < count; at++)
        for (int item = int(mixed(at) % 9) - 1; item >= 0; item--) sums_want[at] = sums_want[at] * 7 + at * 10 + item;
    same("lists of a kernel", read(sums, count), sums_want);

    int *words = zeros<int>(16);
    locked<<<10, 128>>>(words, words + 1);
    equal("a lock", read(words, 2)[1], 1280);
    CHECK(hipMemset(words, 0, 16 * sizeof(int)));
    hand_over<<<2, 64>>>(words, words + 8, 300);
    unsigned total = 0;
    for (int at = 1; at <= 300; at++) total = total * 3 + at;
    equal("groups that talk", read(words, 9)[8], int(total));

    int *shared, host = 0;
    CHECK(hipMallocManaged((void **)&shared, 3 * sizeof(int)));
    shared[0] = shared[1] = shared[2] = 0;
    count_with_host<<<1, 64>>>(shared, shared + 1, shared + 2);
    for (; host < 2000000 && (host < 10000 || __atomic_load_n(shared, __ATOMIC_RELAXED) < host + 100); host++)
        __atomic_fetch_add(shared, 1, __ATOMIC_RELAXED);
    __atomic_store_n(shared + 1, 1, __ATOMIC_RELEASE);
    CHECK(hipDeviceSynchronize());
    equal("atomics of host and kernel", shared[0], host + shared[2]);
    return report();
}
