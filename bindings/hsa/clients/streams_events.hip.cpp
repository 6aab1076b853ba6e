// Streams of all kinds, events between them and their times, callbacks, priorities, copies that run beside kernels, queries.
#include <atomic>
#include <thread>

#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void multiply_add(unsigned *values, int count, unsigned factor, unsigned added) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] = values[at] * factor + added;
}

// Keeps the card busy for a while that depends on `rounds` alone.
__global__ void busy(unsigned *out, unsigned rounds) {
    unsigned value = threadIdx.x;
    for (unsigned round = 0; round < rounds; round++) value = value * 1664525u + 1013904223u;
    out[threadIdx.x] = value;
}

struct Called {
    std::atomic<int> times{0};
    std::atomic<unsigned> seen{0};
    unsigned *host = nullptr;
};

static void on_stream(hipStream_t, hipError_t status, void *data) {
    auto *called = (Called *)data;
    called->seen = status == hipSuccess && called->host ? called->host[0] : ~0u;
    called->times++;
}

int main() {
    const int count = 50000, streams = 6;
    int least, greatest;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    holds("priorities", least >= greatest);
    hipStream_t stream[streams];
    for (int at = 0; at < streams; at++) {
        if (at % 3 == 0) CHECK(hipStreamCreate(&stream[at]));
        if (at % 3 == 1) CHECK(hipStreamCreateWithFlags(&stream[at], hipStreamNonBlocking));
        if (at % 3 == 2) CHECK(hipStreamCreateWithPriority(&stream[at], hipStreamNonBlocking, at == 2 ? greatest : least));
    }
    unsigned *host[streams], *card[streams], *scratch;
    CHECK(hipMalloc(&scratch, 64 * sizeof(unsigned)));
    for (int at = 0; at < streams; at++) {
        CHECK(hipHostMalloc((void **)&host[at], count * sizeof(unsigned), hipHostMallocDefault));
        CHECK(hipMalloc(&card[at], count * sizeof(unsigned)));
        for (int index = 0; index < count; index++) host[at][index] = index + at;
    }

    // Each stream: copy, ten kernels, copy back; all at once.
    for (int at = 0; at < streams; at++) {
        CHECK(hipMemcpyAsync(card[at], host[at], count * sizeof(unsigned), hipMemcpyHostToDevice, stream[at]));
        for (int round = 0; round < 10; round++)
            multiply_add<<<(count + 255) / 256, 256, 0, stream[at]>>>(card[at], count, 3, round + at);
        CHECK(hipMemcpyAsync(host[at], card[at], count * sizeof(unsigned), hipMemcpyDeviceToHost, stream[at]));
    }
    for (int at = 0; at < streams; at++) {
        CHECK(hipStreamSynchronize(stream[at]));
        CHECK(hipStreamQuery(stream[at]));
        std::vector<unsigned> want(count);
        for (int index = 0; index < count; index++) {
            want[index] = index + at;
            for (int round = 0; round < 10; round++) want[index] = want[index] * 3 + round + at;
        }
        same("stream " + std::to_string(at), std::vector<unsigned>(host[at], host[at] + count), want);
    }

    // A chain over streams by events: each step needs the one before it.
    unsigned *chain;
    CHECK(hipMalloc(&chain, 256 * sizeof(unsigned)));
    CHECK(hipMemset(chain, 0, 256 * sizeof(unsigned)));
    CHECK(hipDeviceSynchronize());
    hipEvent_t step[40];
    unsigned want = 0;
    for (int at = 0; at < 40; at++) {
        CHECK(hipEventCreateWithFlags(&step[at], hipEventDisableTiming));
        hipStream_t on = stream[at * 5 % streams];
        if (at > 0) CHECK(hipStreamWaitEvent(on, step[at - 1], 0));
        if (at % 7 == 0) busy<<<1, 64, 0, on>>>(scratch, 20000);
        multiply_add<<<1, 256, 0, on>>>(chain, 256, 5, at);
        CHECK(hipEventRecord(step[at], on));
        want = want * 5 + at;
    }
    CHECK(hipEventSynchronize(step[39]));
    std::vector<unsigned> chained(256);
    CHECK(hipMemcpy(chained.data(), chain, 256 * sizeof(unsigned), hipMemcpyDeviceToHost));
    same("chain over streams", chained, std::vector<unsigned>(256, want));
    for (auto &event : step) CHECK(hipEventDestroy(event));

    // Times: more work takes longer, and the sum of parts is the whole.
    hipEvent_t before, between, after;
    CHECK(hipEventCreate(&before));
    CHECK(hipEventCreate(&between));
    CHECK(hipEventCreate(&after));
    CHECK(hipEventRecord(before, stream[0]));
    busy<<<1, 64, 0, stream[0]>>>(scratch, 1000);
    CHECK(hipEventRecord(between, stream[0]));
    busy<<<1, 64, 0, stream[0]>>>(scratch, 4000000);
    CHECK(hipEventRecord(after, stream[0]));
    hipError_t query = hipEventQuery(after);
    holds("query of an event that runs or has run", query == hipErrorNotReady || query == hipSuccess);
    CHECK(hipEventSynchronize(after));
    CHECK(hipEventQuery(after));
    float first, second, whole;
    CHECK(hipEventElapsedTime(&first, before, between));
    CHECK(hipEventElapsedTime(&second, between, after));
    CHECK(hipEventElapsedTime(&whole, before, after));
    holds("times are positive", first >= 0 && second > 0);
    holds("the long kernel takes longer", second > first);
    holds("the whole is the sum of its parts", std::fabs(whole - first - second) < 0.05f * whole + 0.01f);

    // Callbacks run after what was put into the stream before them, and before what comes after.
    Called called;
    called.host = host[1];
    host[1][0] = 1;
    CHECK(hipMemcpyAsync(card[1], host[1], 4, hipMemcpyHostToDevice, stream[1]));
    busy<<<1, 64, 0, stream[1]>>>(scratch, 500000);
    multiply_add<<<1, 1, 0, stream[1]>>>(card[1], 1, 7, 4);
    CHECK(hipMemcpyAsync(host[1], card[1], 4, hipMemcpyDeviceToHost, stream[1]));
    CHECK(hipStreamAddCallback(stream[1], on_stream, &called, 0));
    CHECK(hipStreamSynchronize(stream[1]));
    for (int wait = 0; wait < 2000 && called.times == 0; wait++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    equal("callback, times", called.times.load(), 1);
    equal("callback, what it saw", called.seen.load(), 11u);

    // Many threads use one stream.
    CHECK(hipMemset(chain, 0, 256 * sizeof(unsigned)));
    CHECK(hipDeviceSynchronize());
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; thread++)
        threads.emplace_back([&] {
            for (int round = 0; round < 100; round++) multiply_add<<<1, 256, 0, stream[0]>>>(chain, 256, 1, 1);
        });
    for (auto &thread : threads) thread.join();
    CHECK(hipStreamSynchronize(stream[0]));
    CHECK(hipMemcpy(chained.data(), chain, 256 * sizeof(unsigned), hipMemcpyDeviceToHost));
    same("four threads on a stream", chained, std::vector<unsigned>(256, 400));

    // 5000 launches without a wait: more than a queue holds.
    for (int round = 0; round < 5000; round++) multiply_add<<<1, 64, 0, stream[3]>>>(chain, 64, 1, 2);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(chained.data(), chain, 256 * sizeof(unsigned), hipMemcpyDeviceToHost));
    equal("5000 launches", chained[63], 10400u);

    // Fills and copies in two dimensions.
    size_t pitch;
    unsigned char *plane;
    CHECK(hipMallocPitch((void **)&plane, &pitch, 100, 40));
    CHECK(hipMemset2D(plane, pitch, 7, 100, 40));
    std::vector<unsigned char> rows(100 * 40, 0), wanted(100 * 40, 7);
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 33; x++) wanted[(y + 5) * 100 + x + 11] = (unsigned char)(x * y);
    std::vector<unsigned char> part(33 * 10);
    for (int y = 0; y < 10; y++)
        for (int x = 0; x < 33; x++) part[y * 33 + x] = (unsigned char)(x * y);
    CHECK(hipMemcpy2DAsync(plane + 5 * pitch + 11, pitch, part.data(), 33, 33, 10, hipMemcpyHostToDevice, stream[2]));
    CHECK(hipStreamSynchronize(stream[2]));
    CHECK(hipMemcpy2D(rows.data(), 100, plane, pitch, 100, 40, hipMemcpyDeviceToHost));
    same("copies in two dimensions", rows, wanted);

    for (auto &one : stream) CHECK(hipStreamDestroy(one));
    return report();
}
