// Parts of HIP's interface that programs use beside launches: graphs, streams that wait for each other, copies of rectangles and boxes,
// occupancy, attributes, callbacks, memory pools and infos, errors that are given back.
#include <hip/hip_runtime.h>

#include "check.hpp"

__global__ void add(int *values, int count, int what) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] += what;
}

__global__ void times(int *values, int count, int what) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) values[at] *= what;
}

static void graphs() {
    const int count = 1000;
    std::vector<int> start(count), got(count), want(count);
    for (int at = 0; at < count; at++) start[at] = at, want[at] = (at + 5) * 3;
    int *values;
    CHECK(hipMalloc(&values, count * sizeof(int)));
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipGraph_t graph;
    hipGraphExec_t made;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(hipMemcpyAsync(values, start.data(), count * sizeof(int), hipMemcpyHostToDevice, stream));
    add<<<(count + 63) / 64, 64, 0, stream>>>(values, count, 5);
    times<<<(count + 63) / 64, 64, 0, stream>>>(values, count, 3);
    CHECK(hipMemcpyAsync(got.data(), values, count * sizeof(int), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    equal("nodes of a graph", nodes, size_t(4));
    CHECK(hipGraphInstantiate(&made, graph, nullptr, nullptr, 0));
    for (int turn = 0; turn < 3; turn++) {
        std::fill(got.begin(), got.end(), -1);
        CHECK(hipGraphLaunch(made, stream));
        CHECK(hipStreamSynchronize(stream));
        same("a graph's results", got, want);
    }
    CHECK(hipGraphExecDestroy(made));
    CHECK(hipGraphDestroy(graph));

    // Made by hand: two kernels beside each other, then a third.
    hipGraphNode_t one, two, three;
    int a = 1, b = 10, c = 100, half = count / 2, all = count, *upper = values + half;
    CHECK(hipMemset(values, 0, count * sizeof(int)));
    CHECK(hipGraphCreate(&graph, 0));
    hipKernelNodeParams kernel = {};
    kernel.blockDim = dim3(64);
    kernel.gridDim = dim3(16);
    kernel.func = (void *)add;
    void *of_one[] = {&values, &half, &a}, *of_two[] = {&upper, &half, &b}, *of_three[] = {&values, &all, &c};
    kernel.kernelParams = of_one;
    CHECK(hipGraphAddKernelNode(&one, graph, nullptr, 0, &kernel));
    kernel.kernelParams = of_two;
    CHECK(hipGraphAddKernelNode(&two, graph, nullptr, 0, &kernel));
    hipGraphNode_t before[] = {one, two};
    kernel.kernelParams = of_three;
    CHECK(hipGraphAddKernelNode(&three, graph, before, 2, &kernel));
    CHECK(hipGraphInstantiate(&made, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(made, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpy(got.data(), values, count * sizeof(int), hipMemcpyDeviceToHost));
    for (int at = 0; at < count; at++) want[at] = at < half ? 101 : 110;
    same("a graph made by hand", got, want);
    CHECK(hipGraphExecDestroy(made));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipFree(values));
}

static void called(hipStream_t, hipError_t error, void *data) {
    if (error == hipSuccess) ++*(int *)data;
}

// A ring of streams: each adds to what the one before has left.
static void streams() {
    const int ring = 5, turns = 20, count = 256;
    int *values, calls = 0;
    CHECK(hipMalloc(&values, count * sizeof(int)));
    CHECK(hipMemset(values, 0, count * sizeof(int)));
    hipStream_t stream[ring];
    hipEvent_t event[ring];
    int least, greatest;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    for (int at = 0; at < ring; at++) {
        CHECK(hipStreamCreateWithPriority(&stream[at], hipStreamNonBlocking, at % 2 ? least : greatest));
        CHECK(hipEventCreateWithFlags(&event[at], hipEventDisableTiming));
    }
    int want = 0;
    CHECK(hipDeviceSynchronize());
    for (int turn = 0; turn < turns; turn++) {
        for (int at = 0; at < ring; at++) {
            int before = (at + ring - 1) % ring;
            if (turn + at > 0) CHECK(hipStreamWaitEvent(stream[at], event[before], 0));
            times<<<1, count, 0, stream[at]>>>(values, count, at % 2 ? 3 : 1);
            add<<<1, count, 0, stream[at]>>>(values, count, at + turn);
            want = int(unsigned(want) * (at % 2 ? 3u : 1u) + unsigned(at + turn));
            CHECK(hipEventRecord(event[at], stream[at]));
        }
    }
    CHECK(hipStreamAddCallback(stream[ring - 1], called, &calls, 0));
    CHECK(hipStreamSynchronize(stream[ring - 1]));
    CHECK(hipDeviceSynchronize());
    equal("a callback", calls, 1);
    std::vector<int> got(count);
    CHECK(hipMemcpy(got.data(), values, count * sizeof(int), hipMemcpyDeviceToHost));
    same("streams that wait for each other", got, std::vector<int>(count, want));
    equal("nothing is left", hipStreamQuery(stream[0]), hipSuccess);
    for (int at = 0; at < ring; at++) {
        CHECK(hipStreamDestroy(stream[at]));
        CHECK(hipEventDestroy(event[at]));
    }
    CHECK(hipFree(values));
}

static void rectangles() {
    const size_t width = 37, height = 21;
    std::vector<int> in(width * height), got(width * height, -1);
    for (size_t at = 0; at < in.size(); at++) in[at] = int(at * 7 + 1);
    int *one, *two;
    size_t pitch, other;
    CHECK(hipMallocPitch((void **)&one, &pitch, width * sizeof(int), height));
    CHECK(hipMallocPitch((void **)&two, &other, width * sizeof(int), height));
    holds("a pitch holds a row", pitch >= width * sizeof(int));
    CHECK(hipMemcpy2D(one, pitch, in.data(), width * sizeof(int), width * sizeof(int), height, hipMemcpyHostToDevice));
    CHECK(hipMemset2D(two, other, 0xff, width * sizeof(int), height));
    // All but the first row and the first column.
    CHECK(hipMemcpy2DAsync((char *)two + other + 4, other, (char *)one + pitch + 4, pitch, (width - 1) * sizeof(int), height - 1,
                           hipMemcpyDeviceToDevice, 0));
    CHECK(hipMemcpy2D(got.data(), width * sizeof(int), two, other, width * sizeof(int), height, hipMemcpyDeviceToHost));
    auto want = in;
    for (size_t at = 0; at < want.size(); at++)
        if (at < width || at % width == 0) want[at] = -1;
    same("rectangles", got, want);
    CHECK(hipFree(one));
    CHECK(hipFree(two));

    hipExtent size = make_hipExtent(12 * sizeof(int), 7, 5);
    hipPitchedPtr box;
    CHECK(hipMalloc3D(&box, size));
    std::vector<int> cube(12 * 7 * 5), back(cube.size());
    for (size_t at = 0; at < cube.size(); at++) cube[at] = int(at);
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(cube.data(), 12 * sizeof(int), 12, 7);
    copy.dstPtr = box;
    copy.extent = size;
    copy.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&copy));
    hipMemcpy3DParms again = {};
    again.srcPtr = box;
    again.srcPos = make_hipPos(2 * sizeof(int), 1, 1);
    again.dstPtr = make_hipPitchedPtr(back.data(), 12 * sizeof(int), 12, 7);
    again.dstPos = make_hipPos(3 * sizeof(int), 2, 0);
    again.extent = make_hipExtent(5 * sizeof(int), 4, 3);
    again.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3DAsync(&again, 0));
    CHECK(hipDeviceSynchronize());
    std::vector<int> box_want(cube.size());
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 5; x++) box_want[(z * 7 + y + 2) * 12 + x + 3] = cube[((z + 1) * 7 + y + 1) * 12 + x + 2];
    same("boxes", back, box_want);
    CHECK(hipFree(box.ptr));

    // A device is its own peer.
    int *from, *to, can;
    CHECK(hipMalloc(&from, 4096));
    CHECK(hipMalloc(&to, 4096));
    CHECK(hipMemset(from, 0x5a, 4096));
    CHECK(hipMemcpyPeer(to, 0, from, 0, 4096));
    CHECK(hipDeviceCanAccessPeer(&can, 0, 0));
    std::vector<unsigned> words(1024);
    CHECK(hipMemcpy(words.data(), to, 4096, hipMemcpyDeviceToHost));
    same("a copy to a peer", words, std::vector<unsigned>(1024, 0x5a5a5a5a));
    CHECK(hipMemsetD16(to, 0x1234, 2048));
    CHECK(hipMemsetD32(from, 77, 1024));
    CHECK(hipMemcpyDtoD(from + 512, to, 2048));
    CHECK(hipMemcpy(words.data(), from, 4096, hipMemcpyDeviceToHost));
    equal("fills of words", words[511], 77u);
    equal("fills of halves", words[512], 0x12341234u);
    CHECK(hipFree(from));
    CHECK(hipFree(to));
}

__managed__ int shared_count;
__global__ void count_managed(int *more) {
    atomicAdd(&shared_count, 1);
    atomicAdd(more, 2);
}

static void managed() {
    int *value;
    CHECK(hipMallocManaged(&value, sizeof *value));
    *value = 5, shared_count = 7;
    count_managed<<<3, 50>>>(value);
    CHECK(hipDeviceSynchronize());
    equal("managed variable", shared_count, 157);
    equal("managed memory", *value, 305);
    CHECK(hipMemPrefetchAsync(value, sizeof *value, 0, 0));
    CHECK(hipMemAdvise(value, sizeof *value, hipMemAdviseSetReadMostly, 0));
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(value));
    int *own = (int *)std::malloc(1 << 16), *seen;
    CHECK(hipHostRegister(own, 1 << 16, hipHostRegisterMapped));
    CHECK(hipHostGetDevicePointer((void **)&seen, own, 0));
    own[100] = 1;
    add<<<1, 64>>>(seen + 64, 64, 41);
    CHECK(hipDeviceSynchronize());
    equal("registered memory", own[100], 42);
    CHECK(hipHostUnregister(own));
    std::free(own);
}

static void questions() {
    int count = 0, blocks = 0, size = 0, least = 0, value = 0;
    CHECK(hipGetDeviceCount(&count));
    equal("devices", count, 1);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    equal("lanes of a warp", properties.warpSize, 64);
    holds("a name", std::strlen(properties.gcnArchName) >= 6);
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    CHECK(hipOccupancyMaxPotentialBlockSize(&least, &size, add, 0, 0));
    holds("occupancy", blocks > 0 && size >= 64 && least > 0);
    CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerBlock, 0));
    equal("threads of a block", value, 1024);
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, (const void *)add));
    holds("registers of a kernel", attributes.numRegs > 0 && attributes.maxThreadsPerBlock > 0);
    size_t before, after, all;
    CHECK(hipMemGetInfo(&before, &all));
    void *large;
    CHECK(hipMalloc(&large, 64 << 20));
    CHECK(hipMemGetInfo(&after, &all));
    holds("memory is counted", before - after >= (64 << 20) && all >= before);
    hipPointerAttribute_t pointer;
    CHECK(hipPointerGetAttributes(&pointer, large));
    holds("what a pointer is", pointer.memoryType == hipMemoryTypeDevice && pointer.device == 0);
    CHECK(hipFree(large));
    equal("too much memory", hipMalloc(&large, size_t(1) << 50), hipErrorOutOfMemory);
    equal("the last error", hipGetLastError(), hipErrorOutOfMemory);
    equal("no such device", hipSetDevice(5), hipErrorInvalidDevice);
    (void)hipGetLastError();
    add<<<1, 2000>>>(nullptr, 0, 0);
    holds("too many threads", hipGetLastError() != hipSuccess);
    equal("and none is left", hipGetLastError(), hipSuccess);
    hipIpcMemHandle_t handle;
    CHECK(hipMalloc(&large, 4096));
    holds("no memory of other processes", hipIpcGetMemHandle(&handle, large) != hipSuccess);
    (void)hipGetLastError();
    CHECK(hipFree(large));
}

static void async_memory() {
    int *values, got[64];
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    hipEvent_t start, end;
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&end));
    CHECK(hipMalloc(&values, sizeof got));
    CHECK(hipMemsetAsync(values, 0, sizeof got, stream));
    CHECK(hipEventRecord(start, stream));
    for (int turn = 0; turn < 10; turn++) add<<<1, 64, 0, stream>>>(values, 64, turn);
    CHECK(hipEventRecord(end, stream));
    CHECK(hipMemcpyAsync(got, values, sizeof got, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    float time = -1;
    CHECK(hipEventElapsedTime(&time, start, end));
    holds("time between events", time > 0 && time < 60000);
    equal("ten launches", got[63], 45);
    CHECK(hipFree(values));
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(end));
    CHECK(hipStreamDestroy(stream));
}

int main() {
    graphs();
    streams();
    rectangles();
    managed();
    questions();
    async_memory();
    CHECK(hipDeviceReset());
    return report();
}
