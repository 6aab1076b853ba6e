// A program of OpenCL: sums by groups in local memory, a product with a remainder, a buffer that is filled, copied and mapped.
// clients.rs compiles and runs it. Says "all right" at the end, or ends with 77 where there is no Clover.
#define CL_TARGET_OPENCL_VERSION 110
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf("FAIL line %d: %s (%d)\n", __LINE__, #x, error); exit(1); } } while (0)
enum { COUNT = 10000, GROUP = 100 };
static const char *source =
    "kernel void product(global const float *a, global const float *b, global float *c) {\n"
    "  int i = get_global_id(0); c[i] = a[i] * b[i] + 1.0f; }\n"
    "kernel void sums(global const int *a, global int *out, local int *all) {\n"
    "  int l = get_local_id(0); all[l] = a[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  if (l == 0) { int sum = 0; for (int i = 0; i < (int)get_local_size(0); i++) sum += all[i]; out[get_group_id(0)] = sum; }\n"
    "  atomic_add(out + get_num_groups(0), l); }\n";
int main(void) {
  cl_int error = 0;
  cl_platform_id platforms[8], platform = 0;
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count)) return 77;
  for (cl_uint i = 0; i < count && i < 8; i++) {
    char name[100] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, 0);
    if (strstr(name, "Clover")) platform = platforms[i];
  }
  cl_device_id device;
  if (!platform || clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, 0)) return 77;
  cl_context context = clCreateContext(0, 1, &device, 0, 0, &error);
  CHECK(context);
  cl_command_queue queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
  CHECK(queue);
  cl_program program = clCreateProgramWithSource(context, 1, &source, 0, &error);
  error = clBuildProgram(program, 1, &device, "", 0, 0);
  CHECK(!error);
  static float a[COUNT], b[COUNT], c[COUNT];
  static int numbers[COUNT], sums[COUNT / GROUP + 1];
  for (int i = 0; i < COUNT; i++) { a[i] = i * 0.5f; b[i] = 100.0f - i; numbers[i] = i * i % 1000; }
  cl_mem_flags copied = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
  cl_mem buffers[] = {clCreateBuffer(context, copied, sizeof a, a, &error), clCreateBuffer(context, copied, sizeof b, b, &error),
                      clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof c, 0, &error), clCreateBuffer(context, copied, sizeof numbers, numbers, &error),
                      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof sums, sums, &error)};
  cl_kernel product = clCreateKernel(program, "product", &error), add = clCreateKernel(program, "sums", &error);
  CHECK(product && add);
  for (cl_uint i = 0; i < 3; i++) { error = clSetKernelArg(product, i, sizeof(cl_mem), &buffers[i]); CHECK(!error); }
  error = clSetKernelArg(add, 0, sizeof(cl_mem), &buffers[3]) | clSetKernelArg(add, 1, sizeof(cl_mem), &buffers[4]) | clSetKernelArg(add, 2, GROUP * 4, 0);
  CHECK(!error);
  size_t all = COUNT, group = GROUP;
  cl_event event;
  error = clEnqueueNDRangeKernel(queue, product, 1, 0, &all, 0, 0, 0, &event);
  CHECK(!error);
  error = clEnqueueNDRangeKernel(queue, add, 1, 0, &all, &group, 1, &event, 0);
  CHECK(!error);
  error = clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, sizeof c, c, 0, 0, 0);
  CHECK(!error);
  for (int i = 0; i < COUNT; i++) {
    float sum = a[i] * b[i] + 1.0f;
    // The compiler may make one operation of two.
    CHECK(c[i] - sum <= 8 && sum - c[i] <= 8);
  }
  int *seen = clEnqueueMapBuffer(queue, buffers[4], CL_TRUE, CL_MAP_READ, 0, sizeof sums, 0, 0, 0, &error);
  CHECK(seen);
  for (int at = 0; at < COUNT / GROUP; at++) {
    int sum = 0;
    for (int i = 0; i < GROUP; i++) sum += numbers[at * GROUP + i];
    CHECK(seen[at] == sum);
  }
  CHECK(seen[COUNT / GROUP] == COUNT / GROUP * (GROUP * (GROUP - 1) / 2));
  error = clFinish(queue) | clWaitForEvents(1, &event);
  CHECK(!error);
  cl_ulong start = 0, end = 0;
  error = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, 0) | clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, 0);
  CHECK(!error && end >= start);
  printf("all right\n");
  return 0;
}
