// Kernels as they are in every course: n-body, matrix products, histograms, reductions, scans, sorts, Mandelbrot, stencils. Each against the
// CPU.
#include <algorithm>
#include <numeric>

#include <hip/hip_runtime.h>

#include "check.hpp"

template <class T> struct Device {
    T *data = nullptr;
    size_t count;
    explicit Device(size_t count) : count(count) { CHECK(hipMalloc(&data, count * sizeof(T))); }
    explicit Device(const std::vector<T> &values) : Device(values.size()) {
        CHECK(hipMemcpy(data, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
    }
    ~Device() { CHECK(hipFree(data)); }
    std::vector<T> get() const {
        std::vector<T> values(count);
        CHECK(hipMemcpy(values.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
        return values;
    }
};

// All pairs, with a tile of bodies in shared memory.
__global__ void forces(const float4 *bodies, float4 *force, int count) {
    extern __shared__ float4 tile[];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    float4 own = at < count ? bodies[at] : make_float4(0, 0, 0, 0);
    float x = 0, y = 0, z = 0;
    for (int first = 0; first < count; first += blockDim.x) {
        int other = first + threadIdx.x;
        tile[threadIdx.x] = other < count ? bodies[other] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < int(blockDim.x); k++) {
            float dx = tile[k].x - own.x, dy = tile[k].y - own.y, dz = tile[k].z - own.z;
            float part = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            part = part * part * part * tile[k].w;
            x += dx * part, y += dy * part, z += dz * part;
        }
        __syncthreads();
    }
    if (at < count) force[at] = make_float4(x, y, z, 0);
}

static void n_body() {
    const int count = 300;
    Numbers numbers(1);
    std::vector<float4> bodies(count);
    for (auto &body : bodies) body = make_float4(numbers.unit(), numbers.unit(), numbers.unit(), numbers.unit());
    Device<float4> from(bodies), to(count);
    forces<<<(count + 63) / 64, 64, 64 * sizeof(float4)>>>(from.data, to.data, count);
    std::vector<float> got, want;
    for (auto force : to.get()) got.insert(got.end(), {force.x, force.y, force.z});
    for (auto own : bodies) {
        double x = 0, y = 0, z = 0;
        for (auto other : bodies) {
            double dx = double(other.x) - own.x, dy = double(other.y) - own.y, dz = double(other.z) - own.z;
            double part = std::pow(dx * dx + dy * dy + dz * dz + 0.01, -1.5) * other.w;
            x += dx * part, y += dy * part, z += dz * part;
        }
        want.insert(want.end(), {float(x), float(y), float(z)});
    }
    near("n-body", got, want, 1e-4);
}

template <class T, int TILE> __global__ void product(const T *a, const T *b, T *c, int rows, int inner, int columns) {
    __shared__ T left[TILE][TILE], right[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int first = 0; first < inner; first += TILE) {
        int x = first + threadIdx.x, y = first + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < rows && x < inner ? a[row * inner + x] : T(0);
        right[threadIdx.y][threadIdx.x] = y < inner && column < columns ? b[y * columns + column] : T(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
}

template <class T> static void products(const char *what, double part) {
    const int rows = 70, inner = 45, columns = 51;
    Numbers numbers(2);
    std::vector<T> a(rows * inner), b(inner * columns), want(rows * columns);
    for (auto &value : a) value = T(numbers.next() % 64) - T(20);
    for (auto &value : b) value = T(numbers.next() % 64) - T(31);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            for (int k = 0; k < inner; k++) want[row * columns + column] += a[row * inner + k] * b[k * columns + column];
    Device<T> x(a), y(b), z(want.size());
    product<T, 16><<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(x.data, y.data, z.data, rows, inner, columns);
    near(what, z.get(), want, part);
}

__global__ void histogram(const unsigned char *bytes, unsigned *bins, int count) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) atomicAdd(&own[bytes[at]], 1u);
    __syncthreads();
    if (own[threadIdx.x]) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

static void histograms() {
    const int count = 100003;
    Numbers numbers(3);
    std::vector<unsigned char> bytes(count);
    std::vector<unsigned> want(256);
    for (auto &byte : bytes) byte = (unsigned char)(numbers.next() % 100 * numbers.next() % 256), want[byte]++;
    Device<unsigned char> from(bytes);
    Device<unsigned> bins(256);
    CHECK(hipMemset(bins.data, 0, 256 * sizeof(unsigned)));
    histogram<<<20, 256>>>(from.data, bins.data, count);
    same("histogram", bins.get(), want);
}

__device__ double sum_of_wave(double value) {
    for (int apart = warpSize / 2; apart > 0; apart /= 2) value += __shfl_down(value, apart);
    return value;
}

__global__ void sum(const double *values, double *total, int *least, int count) {
    __shared__ double parts[16];
    __shared__ int lowest;
    if (threadIdx.x == 0) lowest = 1 << 30;
    __syncthreads();
    double own = 0;
    int low = 1 << 30;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) {
        own += values[at];
        low = min(low, int(values[at]));
    }
    own = sum_of_wave(own);
    for (int apart = 1; apart < warpSize; apart *= 2) low = min(low, __shfl_xor(low, apart));
    int wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
    if (lane == 0) parts[wave] = own, atomicMin(&lowest, low);
    __syncthreads();
    if (wave == 0) {
        own = sum_of_wave(lane < int(blockDim.x) / warpSize ? parts[lane] : 0);
        if (lane == 0) atomicAdd(total, own), atomicMin(least, lowest);
    }
}

static void reductions() {
    const int count = 54321;
    Numbers numbers(4);
    std::vector<double> values(count);
    for (auto &value : values) value = double(numbers.next() % 100000) - 30000;
    Device<double> from(values), total(std::vector<double>{0});
    Device<int> least(std::vector<int>{1 << 30});
    sum<<<9, 256>>>(from.data, total.data, least.data, count);
    // Whole numbers: every order gives the same sum.
    same("sum", total.get(), {std::accumulate(values.begin(), values.end(), 0.0)});
    same("least", least.get(), {int(*std::min_element(values.begin(), values.end()))});
}

__global__ void mandelbrot(unsigned short *out, int width, int height, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double cr = -2.2 + 3.0 * x / width, ci = -1.2 + 2.4 * y / height, zr = 0, zi = 0;
    int turn = 0;
    for (; turn < most && zr * zr + zi * zi < 4.0; turn++) {
        double next = __dadd_rn(__dsub_rn(__dmul_rn(zr, zr), __dmul_rn(zi, zi)), cr);
        zi = __dadd_rn(__dmul_rn(__dmul_rn(2.0, zr), zi), ci);
        zr = next;
    }
    out[y * width + x] = (unsigned short)turn;
}

static void pictures() {
    const int width = 150, height = 101, most = 200;
    std::vector<unsigned short> want(width * height);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            double cr = -2.2 + 3.0 * x / width, ci = -1.2 + 2.4 * y / height, zr = 0, zi = 0;
            int turn = 0;
            for (; turn < most && zr * zr + zi * zi < 4.0; turn++) {
                double next = zr * zr - zi * zi + cr;
                zi = 2.0 * zr * zi + ci;
                zr = next;
            }
            want[y * width + x] = (unsigned short)turn;
        }
    }
    Device<unsigned short> out(want.size());
    mandelbrot<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(out.data, width, height, most);
    // Contractions differ: a pixel at the edge may take another number of turns.
    auto got = out.get();
    int apart = 0;
    for (size_t at = 0; at < want.size(); at++) apart += got[at] != want[at];
    holds("mandelbrot", apart <= int(want.size()) / 100);
}

__global__ void bitonic_in_block(unsigned *keys, unsigned *values) {
    __shared__ unsigned key[512], value[512];
    int at = threadIdx.x, base = blockIdx.x * 512;
    for (int half = 0; half < 2; half++) key[at + half * 256] = keys[base + at + half * 256], value[at + half * 256] = values[base + at + half * 256];
    for (int size = 2; size <= 512; size *= 2) {
        for (int apart = size / 2; apart > 0; apart /= 2) {
            __syncthreads();
            int low = 2 * at - (at & (apart - 1)), high = low + apart;
            bool up = (low & size) == 0;
            if ((key[low] > key[high]) == up) {
                unsigned k = key[low], v = value[low];
                key[low] = key[high], value[low] = value[high];
                key[high] = k, value[high] = v;
            }
        }
    }
    __syncthreads();
    for (int half = 0; half < 2; half++) keys[base + at + half * 256] = key[at + half * 256], values[base + at + half * 256] = value[at + half * 256];
}

static void sorts() {
    const int blocks = 7;
    Numbers numbers(5);
    std::vector<unsigned> keys(512 * blocks), places(keys.size());
    for (auto &key : keys) key = numbers.next();
    std::iota(places.begin(), places.end(), 0u);
    Device<unsigned> k(keys), v(places);
    bitonic_in_block<<<blocks, 256>>>(k.data, v.data);
    auto sorted = k.get(), from = v.get();
    auto want = keys;
    for (int block = 0; block < blocks; block++) std::sort(want.begin() + 512 * block, want.begin() + 512 * (block + 1));
    same("keys", sorted, want);
    bool right = true;
    for (size_t at = 0; at < keys.size(); at++) right &= keys[from[at]] == sorted[at];
    holds("values go with their keys", right);
}

// Compaction by ballots, and a scan over blocks that waits for the block before (decoupled look-back).
__global__ void compact(const int *values, int *out, int *number, volatile unsigned long long *state, int count) {
    __shared__ int parts[4], before;
    int at = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    bool keeps = at < count && values[at] % 3 == 0;
    unsigned long long mask = __ballot(keeps);
    int place = __popcll(mask & ((1ull << lane) - 1));
    if (lane == 0) parts[wave] = __popcll(mask);
    __syncthreads();
    if (threadIdx.x == 0) {
        int all = 0;
        for (int other = 0; other < int(blockDim.x) / warpSize; other++) {
            int own = parts[other];
            parts[other] = all;
            all += own;
        }
        int first = 0;
        if (blockIdx.x > 0) {
            unsigned long long seen;
            while (!((seen = state[blockIdx.x - 1]) >> 32)) {}
            first = int(seen);
        }
        __threadfence();
        state[blockIdx.x] = 1ull << 32 | unsigned(first + all);
        before = first;
        if (blockIdx.x == gridDim.x - 1) *number = first + all;
    }
    __syncthreads();
    if (keeps) out[before + parts[wave] + place] = values[at];
}

static void compactions() {
    const int count = 20011, blocks = (count + 255) / 256;
    Numbers numbers(6);
    std::vector<int> values(count), want;
    for (auto &value : values) {
        value = int(numbers.next() % 1000);
        if (value % 3 == 0) want.push_back(value);
    }
    Device<int> from(values), to(count), number(1);
    Device<unsigned long long> state(std::vector<unsigned long long>(blocks, 0));
    compact<<<blocks, 256>>>(from.data, to.data, number.data, state.data, count);
    same("number kept", number.get(), {int(want.size())});
    auto got = to.get();
    got.resize(want.size());
    same("kept", got, want);
}

__constant__ float weights[5][5];
__device__ unsigned touched;

__global__ void stencil(const float *in, float *out, int width, int height) {
    __shared__ float tile[20][36];
    int left = blockIdx.x * 32 - 2, top = blockIdx.y * 16 - 2;
    for (int at = threadIdx.y * 32 + threadIdx.x; at < 20 * 36; at += 512) {
        int x = min(max(left + at % 36, 0), width - 1), y = min(max(top + at / 36, 0), height - 1);
        tile[at / 36][at % 36] = in[y * width + x];
    }
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++) sum += tile[threadIdx.y + dy][threadIdx.x + dx] * weights[dy][dx];
    out[y * width + x] = sum;
    atomicInc(&touched, 0xffffffffu);
}

static void stencils() {
    const int width = 75, height = 50;
    Numbers numbers(7);
    std::vector<float> in(width * height), want(in.size());
    float factors[5][5];
    for (auto &value : in) value = numbers.unit();
    for (auto &row : factors)
        for (auto &value : row) value = numbers.unit() - 0.5f;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), factors, sizeof factors));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int dy = -2; dy <= 2; dy++)
                for (int dx = -2; dx <= 2; dx++)
                    want[y * width + x] += in[std::clamp(y + dy, 0, height - 1) * width + std::clamp(x + dx, 0, width - 1)] * factors[dy + 2][dx + 2];
    Device<float> from(in), to(in.size());
    stencil<<<dim3((width + 31) / 32, (height + 15) / 16), dim3(32, 16)>>>(from.data, to.data, width, height);
    near("stencil", to.get(), want, 1e-5);
    unsigned count = 0;
    CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(touched), sizeof count));
    equal("threads counted", count, unsigned(width * height));
}

int main() {
    n_body();
    products<float>("product of floats", 1e-5);
    products<double>("product of doubles", 1e-13);
    products<int>("product of integers", 0);
    histograms();
    reductions();
    pictures();
    sorts();
    compactions();
    stencils();
    CHECK(hipDeviceSynchronize());
    return report();
}
