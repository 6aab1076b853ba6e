// A kernel that is compiled while the program runs: hiprtc, with a header, options, a template by name and a compiler's error.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include "check.hpp"

#define CHECK_RTC(call)                                                                                              \
    do {                                                                                                             \
        hiprtcResult result_ = (call);                                                                               \
        if (result_ != HIPRTC_SUCCESS) {                                                                             \
            std::printf("FAILED: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, hiprtcGetErrorString(result_));        \
            std::_Exit(1);                                                                                           \
        }                                                                                                            \
    } while (0)

static const char *source = R"(
#include "scale.h"
__constant__ float offsets[4];
__device__ int calls;

template <class T> __global__ void scaled(const T *in, T *out, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) {
        out[at] = in[at] * T(SCALE) + T(offsets[at % 4]) + T(ADDED);
        if (at % 64 == 0) atomicAdd(&calls, 1);
    }
}

extern "C" __global__ void polynomial(float *values, int count) {
    extern __shared__ float row[];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    row[threadIdx.x] = at < count ? values[at] : 0.0f;
    __syncthreads();
    float x = row[blockDim.x - 1 - threadIdx.x];
    if (at < count) values[at] = fmaf(fmaf(x, 2.0f, -3.0f), x, 1.0f);
}
)";

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const char *headers[] = {"#define SCALE 3\n"}, *names[] = {"scale.h"};
    hiprtcProgram program;
    CHECK_RTC(hiprtcCreateProgram(&program, source, "scaled.cu", 1, headers, names));
    CHECK_RTC(hiprtcAddNameExpression(program, "scaled<double>"));
    CHECK_RTC(hiprtcAddNameExpression(program, "offsets"));
    CHECK_RTC(hiprtcAddNameExpression(program, "calls"));
    std::string arch = std::string("--gpu-architecture=") + properties.gcnArchName;
    const char *options[] = {arch.c_str(), "-DADDED=5", "-O3"};
    hiprtcResult compiled = hiprtcCompileProgram(program, 3, options);
    size_t size = 0;
    CHECK_RTC(hiprtcGetProgramLogSize(program, &size));
    if (size > 1) {
        std::string log(size, ' ');
        CHECK_RTC(hiprtcGetProgramLog(program, &log[0]));
        std::printf("%s\n", log.c_str());
    }
    CHECK_RTC(compiled);
    CHECK_RTC(hiprtcGetCodeSize(program, &size));
    std::vector<char> code(size);
    CHECK_RTC(hiprtcGetCode(program, code.data()));
    const char *scaled_name, *offsets_name, *calls_name;
    CHECK_RTC(hiprtcGetLoweredName(program, "scaled<double>", &scaled_name));
    CHECK_RTC(hiprtcGetLoweredName(program, "offsets", &offsets_name));
    CHECK_RTC(hiprtcGetLoweredName(program, "calls", &calls_name));

    hipModule_t module;
    hipFunction_t scaled, polynomial;
    CHECK(hipModuleLoadData(&module, code.data()));
    CHECK(hipModuleGetFunction(&scaled, module, scaled_name));
    CHECK(hipModuleGetFunction(&polynomial, module, "polynomial"));
    hipDeviceptr_t offsets, calls;
    size_t bytes;
    CHECK(hipModuleGetGlobal(&offsets, &bytes, module, offsets_name));
    equal("size of offsets", bytes, 4 * sizeof(float));
    float values[4] = {0.5f, -1.0f, 2.0f, 8.0f};
    CHECK(hipMemcpyHtoD(offsets, values, sizeof values));
    CHECK(hipModuleGetGlobal(&calls, &bytes, module, calls_name));

    int count = 5000;
    std::vector<double> in(count), want(count), got(count);
    for (int at = 0; at < count; at++) {
        in[at] = at * 0.125 - 7;
        want[at] = in[at] * 3 + values[at % 4] + 5;
    }
    double *card_in, *card_out;
    CHECK(hipMalloc(&card_in, count * sizeof(double)));
    CHECK(hipMalloc(&card_out, count * sizeof(double)));
    CHECK(hipMemcpy(card_in, in.data(), count * sizeof(double), hipMemcpyHostToDevice));
    void *arguments[] = {&card_in, &card_out, &count};
    CHECK(hipModuleLaunchKernel(scaled, (count + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK(hipMemcpy(got.data(), card_out, count * sizeof(double), hipMemcpyDeviceToHost));
    same("scaled<double>", got, want);
    int called;
    CHECK(hipMemcpyDtoH(&called, calls, sizeof called));
    equal("calls", called, (count + 63) / 64);

    std::vector<float> points(count), expected(count), back(count);
    for (int at = 0; at < count; at++) points[at] = at * 0.01f;
    for (int at = 0; at < count; at++) {
        int mirror = at / 256 * 256 + 255 - at % 256;
        float x = mirror < count ? points[mirror] : 0.0f;
        expected[at] = fmaf(fmaf(x, 2.0f, -3.0f), x, 1.0f);
    }
    float *card_points;
    CHECK(hipMalloc(&card_points, count * sizeof(float)));
    CHECK(hipMemcpy(card_points, points.data(), count * sizeof(float), hipMemcpyHostToDevice));
    struct {
        void *values;
        int count;
    } packed = {card_points, count};
    size_t packed_size = sizeof packed;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &packed_size, HIP_LAUNCH_PARAM_END};
    CHECK(hipModuleLaunchKernel(polynomial, (count + 255) / 256, 1, 1, 256, 1, 1, 256 * sizeof(float), nullptr, nullptr, extra));
    CHECK(hipMemcpy(back.data(), card_points, count * sizeof(float), hipMemcpyDeviceToHost));
    same("polynomial", back, expected);
    CHECK(hipModuleUnload(module));
    CHECK_RTC(hiprtcDestroyProgram(&program));

    CHECK_RTC(hiprtcCreateProgram(&program, "__global__ void wrong() { no_such_thing(); }", "wrong.cu", 0, nullptr, nullptr));
    holds("a wrong program is refused", hiprtcCompileProgram(program, 0, nullptr) != HIPRTC_SUCCESS);
    CHECK_RTC(hiprtcDestroyProgram(&program));
    return report();
}
