typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
__kernel void f1(__global float *y, __global const float *x, float a) { int g = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); y[g] = a * x[g] + y[g]; }
__kernel void f2(__global float2 *y, __global const float2 *x, float a) { int g = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); y[g] = a * x[g] + y[g]; }
__kernel void f4(__global float4 *y, __global const float4 *x, float a) { int g = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); y[g] = a * x[g] + y[g]; }
