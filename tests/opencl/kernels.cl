// Kernels that tests/gcn_clang.rs compiles; they use no library.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define ID (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

kernel void steps(global const uint *in, global uint *out) {
  uint n = in[ID], count = 0;
  while (n > 1) { n = n & 1 ? 3 * n + 1 : n / 2; count++; }
  out[ID] = count;
}

__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void sums(global const int *in, global int *out) {
  local int part[128];
  uint t = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
  part[t] = in[g * 128 + t];
  for (uint step = 64; step > 0; step /= 2) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    if (t < step) part[t] += part[t + step];
  }
  if (t == 0) out[g] = part[0];
}

struct pair { double a; int b; };

kernel void roots(global double *out, struct pair p, uint which) {
  double list[16];
  for (int i = 0; i < 16; i++) list[i] = p.a + i * p.b + ID;
  double x = list[(which + ID) & 15], y = x;
  for (int i = 0; i < 6; i++) y = 0.5 * (y + x / y);
  out[ID] = y;
}
