// Not a check but a measure: what the start of a program costs that is linked with rocSPARSE (1.3 GB of code for cards). With the argument
// `idle` it ends before its first call of HIP; the difference is what finding the card, loading code and a launch take.
#include <hip/hip_runtime.h>
#include <rocsparse/rocsparse.h>

#include "check.hpp"

__global__ void set(int *value) { *value = 42; }

int main(int arguments, char **argument) {
    if (arguments > 1 && std::string(argument[1]) == "idle") {
        // Nothing: but the library stays linked.
        if (arguments > 2) rocsparse_create_handle(nullptr);
        return report();
    }
    int *value, got = 0;
    CHECK(hipMalloc(&value, sizeof *value));
    set<<<1, 1>>>(value);
    CHECK(hipMemcpy(&got, value, sizeof got, hipMemcpyDeviceToHost));
    equal("value", got, 42);
    return report();
}
