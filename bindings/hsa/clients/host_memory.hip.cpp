// Memory that host and card share: managed, mapped, registered and pinned, managed variables, and what HIP says about pointers.
#include <atomic>
#include <sys/mman.h>

#include <hip/hip_runtime.h>

#include "check.hpp"

__managed__ int managed_counter = 40;
__managed__ float managed_table[256];
__device__ unsigned device_table[64] = {1, 2, 3};
__constant__ int constant_table[16];

__global__ void square(int *values, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] *= values[at];
}

__global__ void variables(int *out) {
    int lane = threadIdx.x;
    if (lane == 0) managed_counter += 2;
    managed_table[lane] = managed_table[lane] * 2 + lane;
    if (lane < 64) device_table[lane] += lane;
    out[lane] = constant_table[lane % 16];
}

struct Node {
    int value;
    Node *next;
};

__global__ void follow(const Node *node, long long *sum) {
    long long total = 0;
    for (; node; node = node->next) total = total * 3 + node->value;
    *sum = total;
}

// Waits for the host, answers, and so on.
__global__ void talk(volatile int *question, volatile int *answer, int turns) {
    for (int turn = 1; turn <= turns; turn++) {
        while (*question < turn) __builtin_amdgcn_s_sleep(1);
        __threadfence_system();
        *answer = turn * 10;
        __threadfence_system();
    }
}

static void squares(const std::string &what, int *host, int *card, int count) {
    std::vector<int> want(count);
    for (int at = 0; at < count; at++) {
        host[at] = at - 500;
        want[at] = host[at] * host[at];
    }
    square<<<(count + 127) / 128, 128>>>(card, count);
    CHECK(hipDeviceSynchronize());
    same(what, std::vector<int>(host, host + count), want);
}

int main() {
    const int count = 20000;
    int *managed;
    CHECK(hipMallocManaged((void **)&managed, count * sizeof(int), hipMemAttachGlobal));
    squares("managed", managed, managed, count);
    hipError_t advised = hipMemAdvise(managed, count * sizeof(int), hipMemAdviseSetReadMostly, 0);
    holds("advice", advised == hipSuccess || advised == hipErrorInvalidValue);
    hipError_t prefetched = hipMemPrefetchAsync(managed, count * sizeof(int), 0, nullptr);
    holds("prefetch", prefetched == hipSuccess || prefetched == hipErrorInvalidValue);
    CHECK(hipDeviceSynchronize());

    const unsigned kinds[] = {hipHostMallocDefault,  hipHostMallocMapped,        hipHostMallocNonCoherent,
                              hipHostMallocCoherent, hipHostMallocWriteCombined, hipHostMallocPortable};
    for (unsigned flags : kinds) {
        int *pinned, *seen;
        CHECK(hipHostMalloc((void **)&pinned, count * sizeof(int), flags));
        CHECK(hipHostGetDevicePointer((void **)&seen, pinned, 0));
        squares("pinned, flags " + std::to_string(flags), pinned, seen, count);
        hipPointerAttribute_t attributes;
        CHECK(hipPointerGetAttributes(&attributes, pinned));
        holds("pinned memory is the host's", attributes.memoryType == hipMemoryTypeHost);
        CHECK(hipHostFree(pinned));
    }

    std::vector<int> own(count + 1024);
    int *page = own.data() + 3, *seen;
    CHECK(hipHostRegister(page, count * sizeof(int), hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer((void **)&seen, page, 0));
    squares("registered", page, seen, count);
    CHECK(hipHostUnregister(page));
    holds("no longer registered", hipHostUnregister(page) != hipSuccess);
    (void)hipGetLastError();

    int *mapped = (int *)mmap(nullptr, count * sizeof(int), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(hipHostRegister(mapped, count * sizeof(int), hipHostRegisterDefault));
    CHECK(hipHostGetDevicePointer((void **)&seen, mapped, 0));
    squares("registered pages", mapped, seen, count);
    CHECK(hipHostUnregister(mapped));
    munmap(mapped, count * sizeof(int));

    // Variables of the program.
    int *out;
    CHECK(hipMallocManaged((void **)&out, 256 * sizeof(int)));
    std::vector<int> constants(16);
    for (int at = 0; at < 16; at++) constants[at] = at * at - 7;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(constant_table), constants.data(), sizeof(int) * 16));
    for (int at = 0; at < 256; at++) managed_table[at] = at * 0.5f;
    variables<<<1, 256>>>(out);
    CHECK(hipDeviceSynchronize());
    equal("managed variable", managed_counter, 42);
    std::vector<float> table(256);
    for (int at = 0; at < 256; at++) table[at] = at * 2.0f;
    same("managed table", std::vector<float>(managed_table, managed_table + 256), table);
    std::vector<unsigned> device(64), device_want(64);
    CHECK(hipMemcpyFromSymbol(device.data(), HIP_SYMBOL(device_table), 64 * sizeof(unsigned)));
    for (unsigned at = 0; at < 64; at++) device_want[at] = (at < 3 ? at + 1 : 0) + at;
    same("device variable", device, device_want);
    std::vector<int> constants_want(256);
    for (int at = 0; at < 256; at++) constants_want[at] = constants[at % 16];
    same("constant variable", std::vector<int>(out, out + 256), constants_want);

    // A list of the host that the card follows.
    Node *nodes;
    long long *sum, want = 0;
    CHECK(hipMallocManaged((void **)&nodes, 1000 * sizeof(Node)));
    CHECK(hipMallocManaged((void **)&sum, sizeof *sum));
    for (int at = 0; at < 1000; at++) nodes[at * 7 % 1000] = {at, at < 999 ? &nodes[(at + 1) * 7 % 1000] : nullptr};
    for (int at = 0; at < 1000; at++) want = (long long)((unsigned long long)want * 3 + at);
    follow<<<1, 1>>>(&nodes[0], sum);
    CHECK(hipDeviceSynchronize());
    equal("list", *sum, want);

    // Host and kernel talk while the kernel runs.
    volatile int *words;
    CHECK(hipHostMalloc((void **)&words, 2 * sizeof(int), hipHostMallocCoherent));
    words[0] = words[1] = 0;
    talk<<<1, 1>>>(&words[0], &words[1], 50);
    for (int turn = 1; turn <= 50; turn++) {
        std::atomic_thread_fence(std::memory_order_seq_cst);
        words[0] = turn;
        while (words[1] != turn * 10) {}
    }
    CHECK(hipDeviceSynchronize());
    equal("a talk with a kernel that runs", words[1], 500);

    // What HIP says of memory.
    int *card;
    CHECK(hipMalloc(&card, 4096));
    hipPointerAttribute_t attributes;
    CHECK(hipPointerGetAttributes(&attributes, card + 5));
    holds("device memory is the card's", attributes.memoryType == hipMemoryTypeDevice && attributes.devicePointer == card + 5);
    size_t before, after, total;
    CHECK(hipMemGetInfo(&before, &total));
    void *large;
    CHECK(hipMalloc(&large, 64 << 20));
    CHECK(hipMemGetInfo(&after, &total));
    holds("free memory shrinks", after + (64 << 20) <= before && before <= total);
    CHECK(hipFree(large));
    holds("more than the card has", hipMalloc(&large, size_t(1) << 50) == hipErrorOutOfMemory);
    (void)hipGetLastError();
    // A large copy of memory that is not pinned, there and back.
    std::vector<unsigned> much(6 << 20), back(6 << 20);
    Numbers source(1);
    for (auto &value : much) value = source.next();
    CHECK(hipMalloc(&large, much.size() * 4));
    CHECK(hipMemcpy(large, much.data(), much.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(back.data(), large, much.size() * 4, hipMemcpyDeviceToHost));
    same("a copy of 24 MiB", back, much);
    return report();
}
