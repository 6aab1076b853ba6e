// What HIP gives back where a program asks for what cannot be, and what a kernel may do besides arithmetic: heap, new and delete,
// recursion, function pointers, virtual calls, large frames and shared memory, blocks of 1024, assembler.
#include "check.hpp"
#include <thread>
#include <atomic>
#include <unistd.h>
#include <sys/wait.h>
__global__ void add(int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
extern __shared__ int dyn[];
__global__ void big_shared(int *out, int words) {
    for (int i = threadIdx.x; i < words; i += blockDim.x) dyn[i] = i * 3;
    __syncthreads();
    int s = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x) s += dyn[words - 1 - i];
    atomicAdd(out + blockIdx.x, s);
}
__global__ __launch_bounds__(1024) void blocks(int *out) {
    __shared__ int s[1024];
    int t = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * blockDim.x * blockDim.y;
    s[t] = t;
    __syncthreads();
    for (int k = 512; k; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (!t) out[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = s[0];
}
struct Node {
    int v;
    Node *next;
    __device__ Node(int v, Node *n) : v(v), next(n) {}
};
__global__ void heap(int *out) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Node *n = nullptr;
    for (int i = 0; i <= t % 20; i++) n = new Node(i * t, n);
    int s = 0;
    while (n) {
        s += n->v;
        Node *q = n->next;
        delete n;
        n = q;
    }
    char *c = (char *)malloc(t % 500 + 1);
    memset(c, t, t % 500 + 1);
    for (int i = 0; i <= t % 500; i++) s += c[i] == (char)t;
    free(c);
    out[t] = s;
}
__device__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void recursive(long *out) {
    int t = threadIdx.x;
    out[t] = fib(t % 12) * 1000 + ackermann(t % 3, t % 4);
}
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Sq : Shape {
    float a;
    __device__ Sq(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
};
struct Ci : Shape {
    float r;
    __device__ Ci(float r) : r(r) {}
    __device__ float area() const override { return 3 * r * r; }
};
struct Tri : Sq {
    __device__ Tri(float a) : Sq(a) {}
    __device__ float area() const override { return Sq::area() / 2; }
};
__global__ void virtuals(float *out) {
    int t = threadIdx.x;
    Shape *s = t % 3 == 0 ? (Shape *)new Sq(t) : t % 3 == 1 ? (Shape *)new Ci(t) : new Tri(t);
    out[t] = s->area();
    delete s;
}
typedef int (*Fn)(int);
__device__ int f0(int x) { return x + 1; }
__device__ int f1(int x) { return x * x; }
__device__ int f2(int x) { return -x; }
__device__ Fn table[] = {f0, f1, f2, f0};
__global__ void pointers(int *out) {
    int t = threadIdx.x;
    int v = t;
    for (int i = 0; i < 4; i++) v = table[(t >> (2 * i)) & 3](v);
    out[t] = v;
}
__global__ void frames(int *out, int n) {
    int big[4000];
    for (int i = 0; i < 4000; i++) big[i] = i ^ threadIdx.x;
    int s = 0;
    for (int i = 0; i < n; i++) s += big[(i * 37 + threadIdx.x * 11) % 4000];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void varied(int *out, int a, double b, char c, short2 d, float4 e, long long f, bool g) {
    out[0] = a;
    out[1] = (int)b;
    out[2] = c;
    out[3] = d.x + d.y;
    out[4] = (int)(e.x + e.y + e.z + e.w);
    out[5] = (int)f;
    out[6] = g;
}
struct Large {
    int v[800];
};
__global__ void large(Large l, int *out) {
    int s = 0;
    for (int i = threadIdx.x; i < 800; i += blockDim.x) s += l.v[i];
    atomicAdd(out, s);
}
__global__ void assembler(unsigned *out) {
    unsigned r, x = threadIdx.x * 77;
    asm volatile("v_bfe_u32 %0, %1, 3, 5" : "=v"(r) : "v"(x));
    unsigned s;
    asm volatile("s_mov_b32 %0, 0x1234" : "=s"(s));
    out[threadIdx.x] = r + s;
}
__global__ void fence(int *data, int *flag, int *out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x + 5;
        __threadfence();
        __syncthreads();
        if (!threadIdx.x) atomicExch(flag, 1);
    } else {
        if (!threadIdx.x)
            while (atomicAdd(flag, 0) == 0) {}
        __syncthreads();
        __threadfence();
        out[threadIdx.x] = ((volatile int *)data)[threadIdx.x];
    }
}
__device__ unsigned turn;
__global__ void last(int *x, int *out) {
    __shared__ bool is;
    x[blockIdx.x] = blockIdx.x;
    __threadfence();
    if (!threadIdx.x) is = atomicInc(&turn, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (is && !threadIdx.x) {
        int s = 0;
        for (unsigned i = 0; i < gridDim.x; i++) s += ((volatile int *)x)[i];
        *out = s;
    }
}
static void is(const char *what, hipError_t got, std::initializer_list<hipError_t> want) {
    checks_made++;
    for (auto w : want)
        if (got == w) {
            (void)hipGetLastError();
            return;
        }
    checks_failed++;
    printf("%s: %s (%d)\n", what, hipGetErrorName(got), got);
    (void)hipGetLastError();
}
template <class T> T *managed(size_t n) {
    T *p;
    CHECK(hipMallocManaged((void **)&p, n * sizeof(T)));
    memset(p, 0, n * sizeof(T));
    return p;
}
int main() {
    int *x = managed<int>(1 << 16), *o = managed<int>(1 << 16);
    // refused
    add<<<1, 2048>>>(x, 1);
    is("too large a block", hipGetLastError(), {hipErrorInvalidConfiguration, hipErrorInvalidValue});
    add<<<0, 64>>>(x, 1);
    is("no grid", hipGetLastError(), {hipErrorInvalidConfiguration, hipErrorInvalidValue});
    add<<<dim3(1), dim3(64, 64)>>>(x, 1);
    is("too large a square", hipGetLastError(), {hipErrorInvalidConfiguration, hipErrorInvalidValue});
    add<<<1, 64, 70000>>>(x, 1);
    is("too much shared", hipGetLastError(),
       {hipErrorInvalidConfiguration, hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorLaunchFailure});
    void *p = nullptr;
    is("much memory", hipMalloc(&p, 1ull << 42), {hipErrorOutOfMemory});
    is("free of nothing", hipFree(nullptr), {hipSuccess});
    is("free of a stranger", hipFree((void *)0x1234567), {hipErrorInvalidValue, hipErrorInvalidDevicePointer});
    is("no bytes", hipMalloc(&p, 0), {hipSuccess});
    is("device", hipSetDevice(7), {hipErrorInvalidDevice});
    is("null copy", hipMemcpy(nullptr, x, 4, hipMemcpyDefault), {hipErrorInvalidValue});
    is("kind", hipMemcpy(o, x, 4, (hipMemcpyKind)77), {hipErrorInvalidMemcpyDirection, hipErrorInvalidValue, hipSuccess});
    hipModule_t m;
    is("module", hipModuleLoad(&m, "/nowhere"), {hipErrorFileNotFound});
    is("bad code",
       hipModuleLoadData(
           &m,
           "this is no code object at all, not even nearly one..............................................................."),
       {hipErrorInvalidImage, hipErrorInvalidKernelFile, hipErrorUnknown, hipErrorInvalidValue, hipErrorNoBinaryForGpu,
        hipErrorSharedObjectInitFailed});
    hipEvent_t e, e2;
    CHECK(hipEventCreate(&e));
    CHECK(hipEventCreate(&e2));
    float ms;
    is("not recorded", hipEventElapsedTime(&ms, e, e2), {hipErrorInvalidHandle});
    size_t free0, total;
    CHECK(hipMemGetInfo(&free0, &total));
    holds("memory", free0 <= total && total > 0);
    {
        std::vector<void *> all;
        void *q;
        hipError_t err;
        while ((err = hipMalloc(&q, 512 << 20)) == hipSuccess && all.size() < 500) all.push_back(q);
        is("until it is full", err, {hipErrorOutOfMemory});
        holds("as much as there is", all.size() >= (free0 >> 29) * 3 / 4 && all.size() <= (total >> 29));
        for (auto r : all) CHECK(hipFree(r));
        size_t f1;
        CHECK(hipMemGetInfo(&f1, &total));
        holds("all back", f1 + (64 << 20) >= free0);
        CHECK(hipMalloc(&q, 512 << 20));
        CHECK(hipMemset(q, 1, 512 << 20));
        CHECK(hipFree(q));
    }
    // and it still works
    add<<<64, 256>>>(x, 64 * 256);
    CHECK(hipDeviceSynchronize());
    holds("works", x[0] == 1 && x[64 * 256 - 1] == 1 && x[64 * 256] == 0);
    for (int words : {1, 100, 8192, 12000, 16384}) {
        o[0] = o[1] = 0;
        big_shared<<<2, 300, words * 4>>>(o, words);
        is("shared", hipGetLastError(), {hipSuccess});
        CHECK(hipDeviceSynchronize());
        long w = 3l * words * (words - 1) / 2;
        equal("dynamic " + std::to_string(words), o[0], int(w));
        equal("dynamic'", o[1], int(w));
    }
    for (dim3 b : {dim3(1024), dim3(32, 32), dim3(16, 8, 8), dim3(1, 1024)}) {
        memset(o, 0, 240);
        blocks<<<dim3(2, 3, 4), b>>>(o);
        CHECK(hipDeviceSynchronize());
        std::vector<int> g(o, o + 24), w(24, 1023 * 512);
        same("blocks of 1024", g, w);
    }
    heap<<<8, 128>>>(o);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<int> g(o, o + 1024), w;
        for (int t = 0; t < 1024; t++) {
            int s = 0;
            for (int i = 0; i <= t % 20; i++) s += i * t;
            w.push_back(s + t % 500 + 1);
        }
        same("heap", g, w);
    }
    long *l = managed<long>(256);
    recursive<<<1, 256>>>(l);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<long> g(l, l + 256), w;
        long fb[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
        auto A = [](int m, int n) { return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3; };
        for (int t = 0; t < 256; t++) w.push_back(fb[t % 12] * 1000 + A(t % 3, t % 4));
        same("recursion", g, w);
    }
    float *fl = managed<float>(256);
    virtuals<<<1, 256>>>(fl);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<float> g(fl, fl + 256), w;
        for (int t = 0; t < 256; t++) w.push_back(t % 3 == 0 ? t * t : t % 3 == 1 ? 3.f * t * t : t * t / 2.f);
        same("virtual", g, w);
    }
    pointers<<<1, 256>>>(o);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<int> g(o, o + 256), w;
        for (int t = 0; t < 256; t++) {
            int v = t;
            for (int i = 0; i < 4; i++) {
                int k = t >> (2 * i) & 3;
                v = k == 1 ? v * v : k == 2 ? -v : v + 1;
            }
            w.push_back(v);
        }
        same("function pointers", g, w);
    }
    frames<<<4, 100>>>(o, 500);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<int> g(o, o + 400), w;
        for (int b = 0; b < 4; b++)
            for (int t = 0; t < 100; t++) {
                int s = 0;
                for (int i = 0; i < 500; i++) s += ((i * 37 + t * 11) % 4000) ^ t;
                w.push_back(s);
            }
        same("large frames", g, w);
    }
    varied<<<1, 1>>>(o, -5, 7.9, 'c', make_short2(-3, 40), make_float4(1, 2, 3, 4), -1234567ll, true);
    CHECK(hipDeviceSynchronize());
    same("arguments", std::vector<int>(o, o + 7), {-5, 7, 'c', 37, 10, -1234567, 1});
    Large la;
    int sum = 0;
    for (int i = 0; i < 800; i++) sum += la.v[i] = i * i;
    o[0] = 0;
    large<<<1, 128>>>(la, o);
    CHECK(hipDeviceSynchronize());
    equal("large argument", o[0], sum);
    assembler<<<1, 64>>>((unsigned *)o);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<int> g(o, o + 64), w;
        for (int t = 0; t < 64; t++) w.push_back(((t * 77 >> 3) & 31) + 0x1234);
        same("assembler", g, w);
    }
    memset(o, 0, 4096);
    memset(x, 0, 4096);
    fence<<<2, 256>>>(x, x + 512, o);
    CHECK(hipDeviceSynchronize());
    {
        std::vector<int> g(o, o + 256), w;
        for (int t = 0; t < 256; t++) w.push_back(t + 5);
        same("message between blocks", g, w);
    }
    for (int k = 0; k < 3; k++) {
        o[0] = 0;
        last<<<200, 64>>>(x, o);
        CHECK(hipDeviceSynchronize());
        equal("last block", o[0], 199 * 100);
    }
    // many threads of the host
    std::atomic<int> bad{0};
    std::vector<std::thread> th;
    for (int t = 0; t < 8; t++)
        th.emplace_back([t, &bad] {
            if (hipSetDevice(0) != hipSuccess) bad++;
            hipStream_t s[3];
            for (auto &q : s)
                if (hipStreamCreate(&q) != hipSuccess) bad++;
            int *d;
            if (hipMalloc(&d, 4096 * 3) != hipSuccess) bad++;
            if (hipMemset(d, 0, 4096 * 3) != hipSuccess) bad++;
            for (int i = 0; i < 60; i++) add<<<8, 128, 0, s[i % 3]>>>(d + 1024 * (i % 3), 1024 - t);
            std::vector<int> h(3072);
            for (int k = 0; k < 3; k++)
                if (hipMemcpyAsync(h.data() + 1024 * k, d + 1024 * k, 4096, hipMemcpyDeviceToHost, s[k]) != hipSuccess) bad++;
            for (auto q : s)
                if (hipStreamSynchronize(q) != hipSuccess) bad++;
            for (int i = 0; i < 3072; i++)
                if (h[i] != (i % 1024 < 1024 - t ? 20 : 0)) {
                    bad++;
                    break;
                }
            for (auto q : s) (void)hipStreamDestroy(q);
            (void)hipFree(d);
        });
    for (auto &t : th) t.join();
    equal("threads", bad.load(), 0);
    {
        static std::atomic<int> called;
        hipStream_t s;
        CHECK(hipStreamCreate(&s));
        memset(x, 0, 4096);
        add<<<4, 256, 0, s>>>(x, 1024);
        CHECK(hipStreamAddCallback(
            s, [](hipStream_t, hipError_t, void *p) { called += ((int *)p)[1023] == 1; }, x, 0));
        add<<<4, 256, 0, s>>>(x, 1024);
        CHECK(hipStreamSynchronize(s));
        equal("host function", called.load(), 1);
        equal("after it", x[5], 2);
        CHECK(hipEventRecord(e, s));
        add<<<400, 256, 0, s>>>(x, 1024);
        CHECK(hipEventRecord(e2, s));
        CHECK(hipEventSynchronize(e2));
        CHECK(hipEventElapsedTime(&ms, e, e2));
        holds("time", ms > 0 && ms < 5000);
        CHECK(hipStreamDestroy(s));
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) _exit(42);
    int st;
    waitpid(pid, &st, 0);
    equal("fork", WEXITSTATUS(st), 42);
    add<<<4, 256>>>(x, 1024);
    CHECK(hipDeviceSynchronize());
    equal("after fork", x[7], 4);
    CHECK(hipDeviceReset());
    return report();
}
