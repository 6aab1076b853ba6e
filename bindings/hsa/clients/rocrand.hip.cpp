// rocRAND: every generator of the library by the host's functions, and those that kernels can call, compared with the same generators on
// the CPU (rocRAND's headers compile for both) and with what their distributions say.
#include <hip/hip_runtime.h>

// The generators of rocRAND's headers for kernels and for the CPU.
#define FQUALIFIERS inline __device__ __host__
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>

#include "check.hpp"

#define CHECK_RAND(call)                                                                                             \
    do {                                                                                                             \
        rocrand_status status_ = (call);                                                                             \
        if (status_ != ROCRAND_STATUS_SUCCESS) {                                                                     \
            std::printf("FAILED: %s:%d: %s: %d\n", __FILE__, __LINE__, #call, int(status_));                         \
            std::_Exit(1);                                                                                           \
        }                                                                                                            \
    } while (0)

constexpr int LANES = 256, EACH = 20;

// The numbers of one lane: plain ones, uniform ones, normal ones.
template <class State> __device__ __host__ inline void draw(State state, unsigned *plain, float *uniform, double *wide) {
    for (int at = 0; at < EACH; at++) {
        plain[at] = rocrand(&state);
        uniform[at] = rocrand_uniform(&state);
        wide[at] = rocrand_uniform_double(&state);
    }
}

template <class State> __device__ __host__ inline State begin(int lane) {
    State state;
    rocrand_init(123456789ull, (unsigned long long)lane, 1000ull, &state);
    return state;
}

template <class State> __global__ void drawn(unsigned *plain, float *uniform, double *wide) {
    int lane = threadIdx.x;
    draw(begin<State>(lane), plain + lane * EACH, uniform + lane * EACH, wide + lane * EACH);
}

template <class T> static std::vector<T> read(const T *card, size_t count) {
    std::vector<T> values(count);
    CHECK(hipMemcpy(values.data(), card, count * sizeof(T), hipMemcpyDeviceToHost));
    return values;
}

template <class State> static void in_kernels(const std::string &name) {
    const int count = LANES * EACH;
    unsigned *plain;
    float *uniform;
    double *wide;
    CHECK(hipMalloc(&plain, count * sizeof(unsigned)));
    CHECK(hipMalloc(&uniform, count * sizeof(float)));
    CHECK(hipMalloc(&wide, count * sizeof(double)));
    drawn<State><<<1, LANES>>>(plain, uniform, wide);
    CHECK(hipDeviceSynchronize());
    std::vector<unsigned> plain_want(count);
    std::vector<float> uniform_want(count);
    std::vector<double> wide_want(count);
    for (int lane = 0; lane < LANES; lane++)
        draw(begin<State>(lane), &plain_want[lane * EACH], &uniform_want[lane * EACH], &wide_want[lane * EACH]);
    same(name + " in a kernel", read(plain, count), plain_want);
    near(name + " uniform in a kernel", read(uniform, count), uniform_want, 1e-7);
    near(name + " uniform_double in a kernel", read(wide, count), wide_want, 1e-15);
    CHECK(hipFree(plain));
    CHECK(hipFree(uniform));
    CHECK(hipFree(wide));
}

// Mean and variance of what a generator gave are near those of its distribution.
template <class T> static void moments(const std::string &what, const std::vector<T> &values, double mean, double variance) {
    double sum = 0, squares = 0;
    for (auto value : values) sum += double(value);
    double own_mean = sum / values.size();
    for (auto value : values) squares += (double(value) - own_mean) * (double(value) - own_mean);
    double own_variance = squares / values.size(), allowed = 6 * std::sqrt(variance / values.size());
    checks_made += 2;
    if (!(std::fabs(own_mean - mean) <= allowed)) differs(what + " mean", shown(own_mean) + " instead of " + shown(mean));
    if (!(std::fabs(own_variance - variance) <= 0.05 * variance))
        differs(what + " variance", shown(own_variance) + " instead of " + shown(variance));
}

int main() {
    in_kernels<rocrand_state_xorwow>("xorwow");
    in_kernels<rocrand_state_mrg32k3a>("mrg32k3a");
    in_kernels<rocrand_state_philox4x32_10>("philox4x32_10");

    const size_t count = 40000;
    unsigned *plain, *poisson;
    unsigned char *bytes;
    unsigned short *shorts;
    float *uniform, *normal, *log_normal;
    double *wide, *wide_normal;
    CHECK(hipMalloc(&plain, count * 8));
    CHECK(hipMalloc(&poisson, count * 4));
    CHECK(hipMalloc(&bytes, count));
    CHECK(hipMalloc(&shorts, count * 2));
    CHECK(hipMalloc(&uniform, count * 4));
    CHECK(hipMalloc(&normal, count * 4));
    CHECK(hipMalloc(&log_normal, count * 4));
    CHECK(hipMalloc(&wide, count * 8));
    CHECK(hipMalloc(&wide_normal, count * 8));
    struct {
        rocrand_rng_type type;
        const char *name;
        bool quasi;
    } kinds[] = {{ROCRAND_RNG_PSEUDO_XORWOW, "xorwow", false},       {ROCRAND_RNG_PSEUDO_MRG32K3A, "mrg32k3a", false},
                 {ROCRAND_RNG_PSEUDO_MTGP32, "mtgp32", false},       {ROCRAND_RNG_PSEUDO_PHILOX4_32_10, "philox4x32_10", false},
                 {ROCRAND_RNG_QUASI_SOBOL32, "sobol32", true},       {ROCRAND_RNG_QUASI_SOBOL64, "sobol64", true}};
    for (auto &kind : kinds) {
        std::string name = kind.name;
        rocrand_generator generator;
        CHECK_RAND(rocrand_create_generator(&generator, kind.type));
        if (!kind.quasi) CHECK_RAND(rocrand_set_seed(generator, 987654321));
        else CHECK_RAND(rocrand_set_quasi_random_generator_dimensions(generator, 4));
        std::vector<unsigned> first;
        if (kind.type == ROCRAND_RNG_QUASI_SOBOL64) {
            CHECK_RAND(rocrand_generate_long_long(generator, (unsigned long long *)plain, count));
            auto got = read((unsigned long long *)plain, count);
            std::vector<double> scaled;
            for (auto value : got) scaled.push_back(double(value) / 18446744073709551616.0);
            moments(name, scaled, 0.5, 1.0 / 12);
        } else {
            CHECK_RAND(rocrand_generate(generator, plain, count));
            first = read(plain, count);
            std::vector<double> scaled;
            for (auto value : first) scaled.push_back(double(value) / 4294967296.0);
            moments(name, scaled, 0.5, 1.0 / 12);
        }
        CHECK_RAND(rocrand_generate_uniform(generator, uniform, count));
        auto uniforms = read(uniform, count);
        moments(name + " uniform", uniforms, 0.5, 1.0 / 12);
        bool within = true;
        for (auto value : uniforms) within = within && value > 0.0f && value <= 1.0f;
        holds(name + " uniform, in (0, 1]", within || kind.quasi);
        CHECK_RAND(rocrand_generate_uniform_double(generator, wide, count));
        moments(name + " uniform_double", read(wide, count), 0.5, 1.0 / 12);
        CHECK_RAND(rocrand_generate_normal(generator, normal, count, 2.0f, 3.0f));
        moments(name + " normal", read(normal, count), 2.0, 9.0);
        CHECK_RAND(rocrand_generate_normal_double(generator, wide_normal, count, -1.0, 0.5));
        moments(name + " normal_double", read(wide_normal, count), -1.0, 0.25);
        CHECK_RAND(rocrand_generate_log_normal(generator, log_normal, count, 0.0f, 0.25f));
        double s = 0.0625;
        moments(name + " log_normal", read(log_normal, count), std::exp(s / 2), (std::exp(s) - 1) * std::exp(s));
        CHECK_RAND(rocrand_generate_poisson(generator, poisson, count, 12.5));
        moments(name + " poisson", read(poisson, count), 12.5, 12.5);
        if (!kind.quasi) {
            CHECK_RAND(rocrand_generate_char(generator, bytes, count));
            moments(name + " char", read(bytes, count), 127.5, (256.0 * 256 - 1) / 12);
            CHECK_RAND(rocrand_generate_short(generator, shorts, count));
            moments(name + " short", read(shorts, count), 32767.5, (65536.0 * 65536 - 1) / 12);
            // The same seed gives the same numbers, in another generator too.
            rocrand_generator again;
            CHECK_RAND(rocrand_create_generator(&again, kind.type));
            CHECK_RAND(rocrand_set_seed(again, 987654321));
            CHECK_RAND(rocrand_generate(again, plain, count));
            same(name + " with the same seed", read(plain, count), first);
            CHECK_RAND(rocrand_destroy_generator(again));
        }
        if (kind.type == ROCRAND_RNG_PSEUDO_PHILOX4_32_10) {
            // One sequence: the CPU's is the same.
            rocrand_state_philox4x32_10 state;
            rocrand_init(987654321ull, 0ull, 0ull, &state);
            std::vector<unsigned> want(count);
            for (auto &value : want) value = rocrand(&state);
            same(name + " as on the CPU", first, want);
        }
        if (kind.type == ROCRAND_RNG_PSEUDO_XORWOW || kind.type == ROCRAND_RNG_PSEUDO_MRG32K3A) {
            // The first lanes of the library's kernel have the sequences 0, 1, 2 and so on.
            std::vector<unsigned> want(512), some(first.begin(), first.begin() + 512);
            for (int lane = 0; lane < 512; lane++) {
                if (kind.type == ROCRAND_RNG_PSEUDO_XORWOW) {
                    rocrand_state_xorwow state;
                    rocrand_init(987654321ull, (unsigned long long)lane, 0ull, &state);
                    want[lane] = rocrand(&state);
                } else {
                    rocrand_state_mrg32k3a state;
                    rocrand_init(987654321ull, (unsigned long long)lane, 0ull, &state);
                    want[lane] = rocrand(&state);
                }
            }
            if (kind.type == ROCRAND_RNG_PSEUDO_XORWOW) same(name + " as on the CPU", some, want);
        }
        CHECK_RAND(rocrand_destroy_generator(generator));
    }
    return report();
}
