typedef unsigned uint2 __attribute__((ext_vector_type(2)));
typedef unsigned uint4 __attribute__((ext_vector_type(4)));
typedef unsigned long ulong4 __attribute__((ext_vector_type(4)));
#define G (__builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x())
__kernel void pairs(__global uint2 *y, __global const uint2 *x, unsigned n) { unsigned g = G; if (g < n) y[g] = x[g] * 3 + y[g].yx; }
__kernel void fours(__global uint4 *y, __global const uint4 *x, unsigned n) { unsigned g = G; if (g < n) y[g] = x[g] * 3 + y[g].wzyx; }
__kernel void second(__global uint4 *y, __global const uint4 *x, unsigned n) { unsigned g = G; if (g < n && x[g].y & 4) y[g].z = x[g].y + y[g].w; }
__kernel void longs(__global ulong4 *y, __global const ulong4 *x, unsigned n) { unsigned g = G; if (g < n) y[g] = x[g] * 3 + y[g].wzyx; }
