// rocPRIM's algorithms for the whole card (sort, scan, reduce, select and what is built on them), compared with the C++ library's.
#include <algorithm>
#include <numeric>

#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>

#include "check.hpp"

// Device memory that goes with the object.
template <class T> struct OnCard {
    T *at = nullptr;
    size_t count;
    explicit OnCard(size_t count) : count(count) { CHECK(hipMalloc(&at, (count ? count : 1) * sizeof(T))); }
    explicit OnCard(const std::vector<T> &values) : OnCard(values.size()) {
        CHECK(hipMemcpy(at, values.data(), count * sizeof(T), hipMemcpyHostToDevice));
    }
    OnCard(const OnCard &) = delete;
    ~OnCard() { (void)hipFree(at); }
    std::vector<T> read(size_t some) const {
        std::vector<T> values(some);
        CHECK(hipMemcpy(values.data(), at, some * sizeof(T), hipMemcpyDeviceToHost));
        return values;
    }
    std::vector<T> read() const { return read(count); }
};

// Calls an algorithm of rocPRIM twice: for the size of its temporary memory, and for the work.
template <class F> void run(F algorithm) {
    size_t bytes = 0;
    CHECK(algorithm(nullptr, bytes));
    OnCard<char> temporary(bytes);
    CHECK(algorithm(temporary.at, bytes));
    CHECK(hipDeviceSynchronize());
}

template <class T> std::vector<T> numbers(size_t count, unsigned seed, unsigned range) {
    Numbers source(seed);
    std::vector<T> values(count);
    for (auto &value : values) value = range ? T(source.next() % range) : T(source.next());
    return values;
}

struct Even {
    __host__ __device__ bool operator()(unsigned value) const { return value % 2 == 0; }
};

struct Big {
    unsigned long long key;
    unsigned number;
};

struct Smaller {
    __host__ __device__ bool operator()(const Big &a, const Big &b) const { return a.key < b.key; }
};

static void sorts(size_t count) {
    std::string of = " of " + std::to_string(count);
    auto keys = numbers<unsigned>(count, 1, 0);
    OnCard<unsigned> in(keys), out(count);
    run([&](void *t, size_t &b) { return rocprim::radix_sort_keys(t, b, in.at, out.at, count); });
    auto want = keys;
    std::sort(want.begin(), want.end());
    same("radix_sort_keys" + of, out.read(), want);

    run([&](void *t, size_t &b) { return rocprim::radix_sort_keys_desc(t, b, in.at, out.at, count, 4, 20); });
    want = keys;
    std::stable_sort(want.begin(), want.end(), [](unsigned a, unsigned b) { return (a >> 4 & 0xffff) > (b >> 4 & 0xffff); });
    same("radix_sort_keys_desc, bits 4 to 19," + of, out.read(), want);

    std::vector<float> floats(count);
    Numbers source(3);
    for (auto &value : floats) value = (source.unit() - 0.5f) * 1e6f;
    std::vector<unsigned> numbered(count);
    std::iota(numbered.begin(), numbered.end(), 0u);
    OnCard<float> float_in(floats), float_out(count);
    OnCard<unsigned> number_in(numbered);
    run([&](void *t, size_t &b) {
        return rocprim::radix_sort_pairs(t, b, float_in.at, float_out.at, number_in.at, out.at, count);
    });
    std::stable_sort(numbered.begin(), numbered.end(), [&](unsigned a, unsigned b) { return floats[a] < floats[b]; });
    same("radix_sort_pairs" + of, out.read(), numbered);

    std::vector<Big> bigs(count);
    for (size_t at = 0; at < count; at++) bigs[at] = {(unsigned long long)source.next() << 20 | 7, unsigned(at)};
    OnCard<Big> big_in(bigs), big_out(count);
    run([&](void *t, size_t &b) { return rocprim::merge_sort(t, b, big_in.at, big_out.at, count, Smaller()); });
    std::stable_sort(bigs.begin(), bigs.end(), Smaller());
    std::vector<unsigned> got_order, want_order;
    for (auto &big : big_out.read()) got_order.push_back(big.number);
    for (auto &big : bigs) want_order.push_back(big.number);
    same("merge_sort" + of, got_order, want_order);
}

static void scans(size_t count) {
    std::string of = " of " + std::to_string(count);
    auto values = numbers<unsigned>(count, 5, 1000);
    OnCard<unsigned> in(values), out(count);
    std::vector<unsigned> want(count);
    run([&](void *t, size_t &b) { return rocprim::inclusive_scan(t, b, in.at, out.at, count, rocprim::plus<unsigned>()); });
    std::partial_sum(values.begin(), values.end(), want.begin());
    same("inclusive_scan" + of, out.read(), want);

    run([&](void *t, size_t &b) {
        return rocprim::exclusive_scan(t, b, in.at, out.at, 17u, count, rocprim::maximum<unsigned>());
    });
    unsigned most = 17;
    for (size_t at = 0; at < count; at++) {
        want[at] = most;
        most = std::max(most, values[at]);
    }
    same("exclusive_scan, maximum," + of, out.read(), want);

    auto keys = numbers<unsigned>(count, 6, 3);
    std::vector<double> doubles(values.begin(), values.end()), sums(count);
    OnCard<unsigned> keys_in(keys);
    OnCard<double> double_in(doubles), double_out(count);
    run([&](void *t, size_t &b) {
        return rocprim::inclusive_scan_by_key(t, b, keys_in.at, double_in.at, double_out.at, count, rocprim::plus<double>());
    });
    for (size_t at = 0; at < count; at++) sums[at] = doubles[at] + (at > 0 && keys[at] == keys[at - 1] ? sums[at - 1] : 0.0);
    same("inclusive_scan_by_key" + of, double_out.read(), sums);
}

static void reductions(size_t count) {
    std::string of = " of " + std::to_string(count);
    auto values = numbers<unsigned>(count, 7, 0);
    OnCard<unsigned> in(values);
    OnCard<unsigned long long> sum(1);
    run([&](void *t, size_t &b) {
        return rocprim::reduce(t, b, in.at, sum.at, 5ull, count, rocprim::plus<unsigned long long>());
    });
    same("reduce" + of, sum.read(), {std::accumulate(values.begin(), values.end(), 5ull)});

    OnCard<unsigned> least(1);
    run([&](void *t, size_t &b) { return rocprim::reduce(t, b, in.at, least.at, ~0u, count, rocprim::minimum<unsigned>()); });
    same("reduce, minimum," + of, least.read(), {*std::min_element(values.begin(), values.end())});

    auto keys = numbers<unsigned>(count, 8, 4);
    OnCard<unsigned> keys_in(keys), unique_out(count), sums_out(count), found(1);
    run([&](void *t, size_t &b) {
        return rocprim::reduce_by_key(t, b, keys_in.at, in.at, count, unique_out.at, sums_out.at, found.at);
    });
    std::vector<unsigned> unique, sums;
    for (size_t at = 0; at < count; at++) {
        if (at == 0 || keys[at] != keys[at - 1]) {
            unique.push_back(keys[at]);
            sums.push_back(0);
        }
        sums.back() += values[at];
    }
    same("reduce_by_key, count," + of, found.read(), {unsigned(unique.size())});
    same("reduce_by_key, keys," + of, unique_out.read(unique.size()), unique);
    same("reduce_by_key, sums," + of, sums_out.read(sums.size()), sums);

    std::vector<unsigned> offsets;
    for (size_t at = 0; at < count; at += 1 + at % 700) offsets.push_back(unsigned(at));
    size_t segments = offsets.size();
    offsets.push_back(unsigned(count));
    OnCard<unsigned> offsets_in(offsets), most(segments);
    run([&](void *t, size_t &b) {
        return rocprim::segmented_reduce(t, b, in.at, most.at, unsigned(segments), offsets_in.at, offsets_in.at + 1,
                                         rocprim::maximum<unsigned>(), 0u);
    });
    std::vector<unsigned> want;
    for (size_t at = 0; at < segments; at++)
        want.push_back(*std::max_element(values.begin() + offsets[at], values.begin() + offsets[at + 1]));
    same("segmented_reduce" + of, most.read(), want);
}

static void selections(size_t count) {
    std::string of = " of " + std::to_string(count);
    auto values = numbers<unsigned>(count, 9, 9);
    OnCard<unsigned> in(values), out(count), found(1);
    run([&](void *t, size_t &b) { return rocprim::select(t, b, in.at, out.at, found.at, count, Even()); });
    std::vector<unsigned> want;
    std::copy_if(values.begin(), values.end(), std::back_inserter(want), Even());
    same("select, count," + of, found.read(), {unsigned(want.size())});
    same("select" + of, out.read(want.size()), want);

    std::vector<unsigned char> flags(count);
    Numbers source(10);
    for (auto &flag : flags) flag = source.next() % 5 == 0;
    OnCard<unsigned char> flags_in(flags);
    run([&](void *t, size_t &b) { return rocprim::select(t, b, in.at, flags_in.at, out.at, found.at, count); });
    want.clear();
    for (size_t at = 0; at < count; at++)
        if (flags[at]) want.push_back(values[at]);
    same("select by flags" + of, out.read(found.read()[0]), want);

    run([&](void *t, size_t &b) { return rocprim::unique(t, b, in.at, out.at, found.at, count); });
    want = values;
    want.erase(std::unique(want.begin(), want.end()), want.end());
    same("unique" + of, out.read(found.read()[0]), want);

    run([&](void *t, size_t &b) { return rocprim::partition(t, b, in.at, out.at, found.at, count, Even()); });
    want.clear();
    std::copy_if(values.begin(), values.end(), std::back_inserter(want), Even());
    std::copy_if(values.rbegin(), values.rend(), std::back_inserter(want), [](unsigned value) { return !Even()(value); });
    same("partition" + of, out.read(), want);

    OnCard<unsigned> bins(9);
    run([&](void *t, size_t &b) {
        return rocprim::histogram_even(t, b, in.at, unsigned(count), bins.at, 10u, 0u, 9u);
    });
    std::vector<unsigned> counted(9, 0);
    for (auto value : values) counted[value]++;
    same("histogram_even" + of, bins.read(), counted);
}

int main() {
    for (size_t count : {1, 63, 1000, 70001}) {
        sorts(count);
        scans(count);
        reductions(count);
        selections(count);
    }
    return report();
}
