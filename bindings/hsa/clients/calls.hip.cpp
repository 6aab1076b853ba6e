// Calls whose target the kernel computes: virtual functions, pointers to functions, recursion, and memory of the kernel's own (stack,
// arrays that are indexed, large frames).
#include <algorithm>
#include <new>

#include <hip/hip_runtime.h>

#include "check.hpp"

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ virtual ~Shape() {}
};

struct Circle : Shape {
    float radius;
    __device__ explicit Circle(float radius) : radius(radius) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};

struct Box : Shape {
    float width, height;
    __device__ Box(float width, float height) : width(width), height(height) {}
    __device__ float area() const override { return width * height; }
    __device__ int corners() const override { return 4; }
};

struct Cube : Box {
    __device__ explicit Cube(float side) : Box(side, side) {}
    __device__ float area() const override { return 6.0f * Box::area(); }
    __device__ int corners() const override { return 8; }
};

union Place {
    char circle[sizeof(Circle)], box[sizeof(Box)], cube[sizeof(Cube)];
    double align;
};

__global__ void build(Place *places, Shape **shapes, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    if (at % 3 == 0) shapes[at] = new (&places[at]) Circle(at * 0.5f);
    if (at % 3 == 1) shapes[at] = new (&places[at]) Box(at * 0.25f, 2.0f);
    if (at % 3 == 2) shapes[at] = new (&places[at]) Cube(at * 1.0f);
}

__global__ void measure(Shape **shapes, float *areas, int *corners, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    areas[at] = shapes[at]->area();
    corners[at] = shapes[at]->corners();
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ __noinline__ int later(int a, int b) { return a > b ? sum(a, 100) : product(b, 3); }
__device__ Operation operations[4] = {sum, difference, product, later};

__global__ void compute(const int *which, int *results, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) results[at] = operations[which[at]](at, 50);
}

__global__ void choose(Operation *chosen, int which) { *chosen = operations[which]; }
__global__ void use(Operation *chosen, int *results) { results[threadIdx.x] = (*chosen)(int(threadIdx.x), 7); }

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recursive(int *results) { results[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 5); }

// A frame that is indexed by what the program computes: a sort in the kernel's own memory.
__global__ void own_memory(const unsigned *in, unsigned *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= count) return;
    unsigned own[100];
    for (int index = 0; index < 100; index++) own[index] = in[at] * (index + 1) * 2654435761u >> 7;
    for (int index = 1; index < 100; index++) {
        unsigned value = own[index];
        int place = index;
        while (place > 0 && own[place - 1] > value) {
            own[place] = own[place - 1];
            place--;
        }
        own[place] = value;
    }
    out[at] = own[in[at] % 100];
}

static int host_ackermann(int m, int n) {
    if (m == 0) return n + 1;
    return n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1));
}

int main() {
    const int count = 1000;
    Place *places;
    Shape **shapes;
    float *areas;
    int *corners, *which, *results;
    CHECK(hipMalloc(&places, count * sizeof(Place)));
    CHECK(hipMalloc(&shapes, count * sizeof(Shape *)));
    CHECK(hipMalloc(&areas, count * sizeof(float)));
    CHECK(hipMalloc(&corners, count * sizeof(int)));
    CHECK(hipMalloc(&which, count * sizeof(int)));
    CHECK(hipMalloc(&results, count * sizeof(int)));
    build<<<(count + 63) / 64, 64>>>(places, shapes, count);
    measure<<<(count + 63) / 64, 64>>>(shapes, areas, corners, count);
    std::vector<float> area(count), area_want(count);
    std::vector<int> corner(count), corner_want(count);
    CHECK(hipMemcpy(area.data(), areas, count * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(corner.data(), corners, count * sizeof(int), hipMemcpyDeviceToHost));
    for (int at = 0; at < count; at++) {
        area_want[at] = at % 3 == 0 ? 3.0f * (at * 0.5f) * (at * 0.5f) : at % 3 == 1 ? at * 0.25f * 2.0f : 6.0f * (at * 1.0f * at);
        corner_want[at] = at % 3 == 0 ? 0 : at % 3 == 1 ? 4 : 8;
    }
    near("virtual area", area, area_want, 1e-6);
    same("virtual corners", corner, corner_want);

    std::vector<int> order(count), result(count), want(count);
    for (int at = 0; at < count; at++) {
        order[at] = at * 7 % 4;
        int own[] = {at + 50, at - 50, at * 50, at > 50 ? at + 100 : 150};
        want[at] = own[order[at]];
    }
    CHECK(hipMemcpy(which, order.data(), count * sizeof(int), hipMemcpyHostToDevice));
    compute<<<(count + 63) / 64, 64>>>(which, results, count);
    CHECK(hipMemcpy(result.data(), results, count * sizeof(int), hipMemcpyDeviceToHost));
    same("a table of functions", result, want);

    Operation *chosen;
    CHECK(hipMalloc(&chosen, sizeof *chosen));
    choose<<<1, 1>>>(chosen, 2);
    use<<<1, 64>>>(chosen, results);
    result.resize(64);
    want.resize(64);
    CHECK(hipMemcpy(result.data(), results, 64 * sizeof(int), hipMemcpyDeviceToHost));
    for (int at = 0; at < 64; at++) want[at] = at * 7;
    same("a function's address from one kernel to the next", result, want);

    recursive<<<1, 64>>>(results);
    CHECK(hipMemcpy(result.data(), results, 64 * sizeof(int), hipMemcpyDeviceToHost));
    for (int at = 0; at < 64; at++) want[at] = host_ackermann(at % 3, at % 5);
    same("recursion", result, want);

    Numbers source(4);
    std::vector<unsigned> in(count), out(count), sorted(count);
    for (int at = 0; at < count; at++) {
        in[at] = source.next();
        std::vector<unsigned> own(100);
        for (int index = 0; index < 100; index++) own[index] = in[at] * (index + 1) * 2654435761u >> 7;
        std::sort(own.begin(), own.end());
        sorted[at] = own[in[at] % 100];
    }
    unsigned *card_in, *card_out;
    CHECK(hipMalloc(&card_in, count * sizeof(unsigned)));
    CHECK(hipMalloc(&card_out, count * sizeof(unsigned)));
    CHECK(hipMemcpy(card_in, in.data(), count * sizeof(unsigned), hipMemcpyHostToDevice));
    own_memory<<<(count + 63) / 64, 64>>>(card_in, card_out, count);
    CHECK(hipMemcpy(out.data(), card_out, count * sizeof(unsigned), hipMemcpyDeviceToHost));
    same("an array of the lane's own", out, sorted);
    return report();
}
