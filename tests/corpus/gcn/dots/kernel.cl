// What gfx906 has more than gfx900: scalar products, fused multiply-adds into a register and of mixed widths.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void dots(global float *f, global int *n, global const half *h, global const float *x, global const int *w) {
    uint i = (uint)__builtin_amdgcn_workitem_id_x();
    float sum = x[i];
    for (uint k = 0; k < 8; k++) sum = __builtin_fmaf(x[(i + k) & 63], x[(i * 7 + k) & 63], sum);
    f[2 * i] = sum;
    f[2 * i + 1] = __builtin_fmaf((float)h[i], (float)h[63 - i], x[i]);
    int a = w[i], b = w[63 - i], c = w[(i * 5) & 63];
    n[4 * i] = __builtin_amdgcn_sdot4(a, b, c, 0);
    n[4 * i + 1] = __builtin_amdgcn_udot8(a, b, c, 1);
    n[4 * i + 2] = __builtin_amdgcn_sdot4(a, b, c, 1);
    n[4 * i + 3] = ~(a ^ b);
}
