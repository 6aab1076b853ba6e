// rocPRIM within blocks and warps: sort, scan, reduce, exchange, histogram, discontinuity, shuffles, loads and stores; each
// thread's result compared with plain loops.
#include "check.hpp"
#include <algorithm>
#include <numeric>
#include <rocprim/rocprim.hpp>
#include <rocprim/block/block_shuffle.hpp>

template <class T> struct Room {
    T *at = nullptr;
    size_t n;
    explicit Room(size_t n) : n(n) {
        CHECK(hipMalloc(&at, n * sizeof(T)));
        CHECK(hipMemset(at, 0xcd, n * sizeof(T)));
    }
    explicit Room(const std::vector<T> &v) : Room(v.size()) {
        CHECK(hipMemcpy(at, v.data(), n * sizeof(T), hipMemcpyHostToDevice));
    }
    ~Room() { (void)hipFree(at); }
    std::vector<T> get() const {
        std::vector<T> v(n);
        CHECK(hipMemcpy(v.data(), at, n * sizeof(T), hipMemcpyDeviceToHost));
        return v;
    }
};
template <class T> std::vector<T> numbers(size_t n, unsigned seed, unsigned span) {
    Numbers r(seed);
    std::vector<T> v(n);
    for (auto &x : v) x = T(int(r.next() % span) - int(std::is_signed_v<T> ? span / 2 : 0));
    return v;
}

template <class T, unsigned B, unsigned I, rocprim::block_load_method L, rocprim::block_store_method S>
__global__ __launch_bounds__(B) void sort_kernel(const T *in, T *out, unsigned valid) {
    using load = rocprim::block_load<T, B, I, L>;
    using store = rocprim::block_store<T, B, I, S>;
    using sort = rocprim::block_radix_sort<T, B, I>;
    constexpr bool striped = S == rocprim::block_store_method::block_store_striped;
    __shared__ union {
        typename load::storage_type l;
        typename store::storage_type s;
        typename sort::storage_type o;
    } room;
    T x[I];
    load().load(in + blockIdx.x * B * I, x, valid, T(1), room.l);
    __syncthreads();
    if constexpr (striped)
        sort().sort_to_striped(x, room.o);
    else
        sort().sort(x, room.o);
    __syncthreads();
    store().store(out + blockIdx.x * B * I, x, room.s);
}
template <class T, unsigned B, unsigned I, rocprim::block_load_method L, rocprim::block_store_method S>
void sorts(const char *name) {
    auto x = numbers<T>(B * I * 3, B + I, 120);
    Room<T> in(x), out(x.size());
    unsigned valid = B * I - 5;
    sort_kernel<T, B, I, L, S><<<3, B>>>(in.at, out.at, valid);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    auto w = x;
    for (int b = 0; b < 3; b++) {
        for (unsigned i = valid; i < B * I; i++) w[b * B * I + i] = T(1);
        std::sort(w.begin() + b * B * I, w.begin() + (b + 1) * B * I);
    }
    same(std::string("block sort ") + name, out.get(), w);
}
template <class T, unsigned B, unsigned I, rocprim::block_scan_algorithm A>
__global__ __launch_bounds__(B) void scan_kernel(const T *in, T *incl, T *excl, T *sums) {
    using scan = rocprim::block_scan<T, B, A>;
    __shared__ typename scan::storage_type room;
    T x[I], y[I];
    T total;
    unsigned base = blockIdx.x * B * I + threadIdx.x * I;
    for (unsigned i = 0; i < I; i++) x[i] = in[base + i];
    scan().inclusive_scan(x, y, room, rocprim::plus<T>());
    for (unsigned i = 0; i < I; i++) incl[base + i] = y[i];
    __syncthreads();
    scan().exclusive_scan(x, y, T(3), total, room, rocprim::plus<T>());
    for (unsigned i = 0; i < I; i++) excl[base + i] = y[i];
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
template <class T, unsigned B, unsigned I, rocprim::block_scan_algorithm A> void scans(const char *name) {
    auto x = numbers<T>(B * I * 2, B * I, 50);
    Room<T> in(x), a(x.size()), b(x.size()), s(2);
    scan_kernel<T, B, I, A><<<2, B>>>(in.at, a.at, b.at, s.at);
    CHECK(hipDeviceSynchronize());
    std::vector<T> wa(x.size()), wb(x.size()), ws(2);
    for (int k = 0; k < 2; k++) {
        T t = 0;
        for (unsigned i = 0; i < B * I; i++) {
            auto at = k * B * I + i;
            wb[at] = T(t + 3);
            t = T(t + x[at]);
            wa[at] = t;
        }
        ws[k] = t;
    }
    same(std::string("incl ") + name, a.get(), wa);
    same(std::string("excl ") + name, b.get(), wb);
    auto gs = s.get(); // rocPRIM 5.3: the total has the initial value or not, both blocks alike
    holds(std::string("total ") + name, (gs[0] == ws[0] && gs[1] == ws[1]) || (gs[0] == T(ws[0] + 3) && gs[1] == T(ws[1] + 3)));
}
template <class T, unsigned B, unsigned I, rocprim::block_reduce_algorithm A>
__global__ __launch_bounds__(B) void reduce_kernel(const T *in, T *out, unsigned valid) {
    using red = rocprim::block_reduce<T, B, A>;
    __shared__ typename red::storage_type room;
    T x[I], r, q;
    unsigned base = blockIdx.x * B * I + threadIdx.x * I;
    for (unsigned i = 0; i < I; i++) x[i] = in[base + i];
    red().reduce(x, r, room, rocprim::maximum<T>());
    __syncthreads();
    red().reduce(x[0], q, valid, room, rocprim::plus<T>());
    if (threadIdx.x == 0) out[blockIdx.x * 2] = r, out[blockIdx.x * 2 + 1] = q;
}
template <class T, unsigned B, unsigned I, rocprim::block_reduce_algorithm A> void reduces(const char *name) {
    auto x = numbers<T>(B * I * 3, B * I + 9, 100);
    Room<T> in(x), out(6);
    unsigned valid = B * 2 / 3 + 1;
    reduce_kernel<T, B, I, A><<<3, B>>>(in.at, out.at, valid);
    CHECK(hipDeviceSynchronize());
    std::vector<T> w;
    for (int b = 0; b < 3; b++) {
        w.push_back(*std::max_element(x.begin() + b * B * I, x.begin() + (b + 1) * B * I));
        T s = 0;
        for (unsigned t = 0; t < valid; t++) s = T(s + x[b * B * I + t * I]);
        w.push_back(s);
    }
    same(std::string("block reduce ") + name, out.get(), w);
}
template <class T, unsigned B, unsigned I>
__global__ void exchange_kernel(const T *in, T *out, const unsigned *ranks, int *heads) {
    using ex = rocprim::block_exchange<T, B, I>;
    using dis = rocprim::block_discontinuity<T, B>;
    using sh = rocprim::block_shuffle<T, B>;
    __shared__ union {
        typename ex::storage_type e;
        typename dis::storage_type d;
        typename sh::storage_type s;
    } room;
    T x[I], y[I];
    unsigned r[I];
    bool h[I];
    unsigned base = threadIdx.x * I, n = B * I;
    auto put = [&](int k) {
        for (unsigned i = 0; i < I; i++) out[k * n + base + i] = y[i];
        __syncthreads();
    };
    for (unsigned i = 0; i < I; i++) x[i] = in[base + i], r[i] = ranks[base + i];
    ex().blocked_to_striped(x, y, room.e);
    put(0);
    ex().striped_to_blocked(x, y, room.e);
    put(1);
    ex().blocked_to_warp_striped(x, y, room.e);
    put(2);
    ex().warp_striped_to_blocked(x, y, room.e);
    put(3);
    ex().scatter_to_blocked(x, y, r, room.e);
    put(4);
    ex().scatter_to_striped(x, y, r, room.e);
    put(5);
    dis().flag_heads(h, x, rocprim::not_equal_to<T>(), room.d);
    for (unsigned i = 0; i < I; i++) heads[base + i] = h[i];
    __syncthreads();
    dis().flag_tails(h, T(5), x, rocprim::not_equal_to<T>(), room.d);
    for (unsigned i = 0; i < I; i++) heads[n + base + i] = h[i];
    __syncthreads();
    T q = x[0], o;
    sh().rotate(threadIdx.x, q, o, 3, room.s);
    y[0] = o;
    __syncthreads();
    o = q;
    sh().offset(threadIdx.x, q, o, -2, room.s);
    y[I - 1] = o;
    put(6);
    sh().up(threadIdx.x, x, y, room.s);
    put(7);
}
template <class T, unsigned B, unsigned I> void exchanges(const char *name) {
    unsigned n = B * I;
    auto x = numbers<T>(n, 3, 4);
    for (unsigned i = 0; i < n; i++)
        if (i % 5 == 1) x[i] = T(i * 3);
    std::vector<unsigned> ranks(n);
    for (unsigned i = 0; i < n; i++) ranks[i] = (i * 7919u + 13) % n;
    Room<T> in(x), out(n * 8);
    Room<unsigned> r(ranks);
    Room<int> heads(n * 2);
    exchange_kernel<T, B, I><<<1, B>>>(in.at, out.at, r.at, heads.at);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    auto g = out.get();
    std::vector<std::vector<T>> w(8, std::vector<T>(n));
    unsigned W = std::min(B, 64u);
    std::vector<T> s(n);
    for (unsigned i = 0; i < n; i++) s[ranks[i]] = x[i];
    for (unsigned t = 0; t < B; t++)
        for (unsigned i = 0; i < I; i++) {
            unsigned at = t * I + i, warp = t / W, lane = t % W;
            w[0][at] = x[i * B + t];
            w[1][at] = x[(at % B) * I + at / B];
            w[2][at] = x[warp * W * I + i * W + lane];
            unsigned k = lane * I + i;
            w[3][at] = x[warp * W * I + (k % W) * I + k / W];
            w[4][at] = s[at];
            w[5][at] = s[i * B + t];
            w[6][at] = w[5][at];
            w[7][at] = at ? x[at - 1] : x[0];
        }
    const char *what[] = {"striped", "blocked", "warp striped", "warp blocked", "scatter blocked", "scatter striped"};
    for (int k = 0; k < 6; k++)
        same(std::string(what[k]) + " " + name, std::vector<T>(g.begin() + k * n, g.begin() + (k + 1) * n), w[k]);
    std::vector<T> rot, wrot, off, woff, up, wup;
    for (unsigned t = 0; t < B; t++) {
        rot.push_back(g[6 * n + t * I]);
        wrot.push_back(x[(t + 3) % B * I]);
        if (t >= 2) off.push_back(g[6 * n + t * I + I - 1]), woff.push_back(x[(t - 2) * I]);
    }
    same(std::string("rotate ") + name, rot, wrot);
    same(std::string("offset ") + name, off, woff);
    same(std::string("up ") + name, std::vector<T>(g.begin() + 7 * n + 1, g.end()), std::vector<T>(w[7].begin() + 1, w[7].end()));
    std::vector<int> wh(2 * n);
    for (unsigned i = 0; i < n; i++) wh[i] = i == 0 || x[i] != x[i - 1], wh[n + i] = (i + 1 < n ? x[i + 1] : T(5)) != x[i];
    same(std::string("flags ") + name, heads.get(), wh);
}
template <class T, unsigned B, unsigned I, rocprim::block_histogram_algorithm A>
__global__ void histogram_kernel(const T *in, unsigned *out) {
    using h = rocprim::block_histogram<T, B, I, 256, A>;
    __shared__ typename h::storage_type room;
    __shared__ unsigned bins[256];
    T x[I];
    for (unsigned i = 0; i < I; i++) x[i] = in[threadIdx.x * I + i];
    h().histogram(x, bins, room);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += B) out[i] = bins[i];
}
template <unsigned B, unsigned I, rocprim::block_histogram_algorithm A> void histograms(const char *name) {
    auto x = numbers<unsigned char>(B * I, 6, 200);
    Room<unsigned char> in(x);
    Room<unsigned> out(256);
    histogram_kernel<unsigned char, B, I, A><<<1, B>>>(in.at, out.at);
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> w(256);
    for (auto v : x) w[v]++;
    same(std::string("block histogram ") + name, out.get(), w);
}
template <class T, unsigned W> __global__ void warp_kernel(const T *in, T *out, unsigned n) {
    using red = rocprim::warp_reduce<T, W, true>;
    using scan = rocprim::warp_scan<T, W>;
    using sort = rocprim::warp_sort<T, (W & (W - 1)) == 0 ? W : 64>;
    __shared__ union {
        typename red::storage_type r;
        typename scan::storage_type s;
        typename sort::storage_type o;
    } room[256 / W];
    unsigned t = threadIdx.x, w = t / W;
    T x = in[t], y;
    red().reduce(x, y, room[w].r, rocprim::plus<T>());
    out[t] = y;
    __syncthreads();
    scan().inclusive_scan(x, y, room[w].s, rocprim::plus<T>());
    out[n + t] = y;
    __syncthreads();
    scan().exclusive_scan(x, y, T(11), room[w].s, rocprim::minimum<T>());
    out[2 * n + t] = y;
    __syncthreads();
    y = x;
    if constexpr ((W & (W - 1)) == 0) sort().sort(y, room[w].o);
    out[3 * n + t] = y;
    __syncthreads();
    red().head_segmented_reduce(x, y, t % 5 == 0, room[w].r, rocprim::plus<T>());
    out[4 * n + t] = y;
}
template <class T, unsigned W> void warps(const char *nm) {
    constexpr unsigned n = (W & (W - 1)) == 0 ? 256 : W;
    auto x = numbers<T>(n, W, 90);
    Room<T> in(x), out(n * 5);
    warp_kernel<T, W><<<1, n>>>(in.at, out.at, n);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    auto g = out.get();
    std::vector<T> w(n * 5);
    std::string name = std::string(nm) + " " + std::to_string(W);
    for (unsigned b = 0; b < n; b += W) {
        T s = 0, m = 11;
        for (unsigned i = 0; i < W; i++) {
            w[2 * n + b + i] = m;
            m = std::min(m, x[b + i]);
            s = T(s + x[b + i]);
            w[n + b + i] = s;
        }
        for (unsigned i = 0; i < W; i++) w[b + i] = s;
        std::copy(x.begin() + b, x.begin() + b + W, w.begin() + 3 * n + b);
        if ((W & (W - 1)) == 0) std::sort(w.begin() + 3 * n + b, w.begin() + 3 * n + b + W);
        for (unsigned i = 0; i < W; i++) {
            w[4 * n + b + i] = g[4 * n + b + i];
            if (i == 0 || (b + i) % 5 == 0) {
                T q = x[b + i];
                for (unsigned j = i + 1; j < W && (b + j) % 5; j++) q = T(q + x[b + j]);
                w[4 * n + b + i] = q;
            }
        }
    }
    const char *what[] = {"warp reduce ", "warp scan ", "warp exclusive ", "warp sort ", "warp segments "};
    for (int k = 0; k < 5; k++)
        same(what[k] + name, std::vector<T>(g.begin() + k * n, g.begin() + (k + 1) * n),
             std::vector<T>(w.begin() + k * n, w.begin() + (k + 1) * n));
}
template <class T, unsigned B> __global__ void merge_kernel(T *io) {
    using s = rocprim::block_sort<T, B, 1, rocprim::empty_type>;
    __shared__ typename s::storage_type room;
    T x = io[threadIdx.x];
    s().sort(x, room, rocprim::greater<T>());
    io[threadIdx.x] = x;
}
template <class T, unsigned B> void bitonic(const char *n) {
    auto x = numbers<T>(B, B, 1000);
    Room<T> io(x);
    merge_kernel<T, B><<<1, B>>>(io.at);
    CHECK(hipDeviceSynchronize());
    std::sort(x.begin(), x.end(), std::greater<T>());
    same(std::string("bitonic ") + n, io.get(), x);
}
int main() {
    using namespace rocprim;
    sorts<int, 256, 4, block_load_method::block_load_transpose, block_store_method::block_store_transpose>("transpose");
    sorts<unsigned char, 128, 7, block_load_method::block_load_warp_transpose, block_store_method::block_store_warp_transpose>(
        "warp transpose");
    sorts<long long, 64, 3, block_load_method::block_load_striped, block_store_method::block_store_striped>("striped");
    sorts<float, 192, 5, block_load_method::block_load_direct, block_store_method::block_store_vectorize>("direct");
    sorts<double, 512, 2, block_load_method::block_load_vectorize, block_store_method::block_store_direct>("vectorize");
    scans<int, 256, 4, block_scan_algorithm::using_warp_scan>("int 256");
    scans<short, 96, 3, block_scan_algorithm::reduce_then_scan>("short 96");
    scans<long long, 1024, 1, block_scan_algorithm::using_warp_scan>("i64 1024");
    scans<unsigned char, 37, 2, block_scan_algorithm::using_warp_scan>("u8 37");
    scans<int, 1000, 1, block_scan_algorithm::reduce_then_scan>("int 1000");
    scans<double, 128, 2, block_scan_algorithm::using_warp_scan>("double");
    reduces<int, 256, 3, block_reduce_algorithm::using_warp_reduce>("int");
    reduces<short, 100, 2, block_reduce_algorithm::raking_reduce>("short");
    reduces<double, 320, 1, block_reduce_algorithm::using_warp_reduce>("double");
    reduces<long long, 1024, 2, block_reduce_algorithm::raking_reduce>("i64");
    reduces<char, 64, 4, block_reduce_algorithm::using_warp_reduce>("i8");
    exchanges<int, 128, 4>("int");
    exchanges<char, 256, 3>("char");
    exchanges<double, 64, 5>("double");
    exchanges<short, 192, 2>("short");
    histograms<256, 5, block_histogram_algorithm::using_atomic>("atomic");
    histograms<128, 3, block_histogram_algorithm::using_sort>("sort");
    warps<int, 64>("int");
    warps<int, 32>("int");
    warps<short, 16>("short");
    warps<double, 8>("double");
    warps<long long, 64>("i64");
    warps<float, 4>("float");
    warps<int, 2>("int");
    warps<int, 15>("int");
    warps<unsigned char, 64>("u8");
    warps<int, 61>("int");
    bitonic<int, 256>("int");
    bitonic<double, 512>("double");
    bitonic<short, 64>("short");
    bitonic<int, 100>("int 100");
    return report();
}
