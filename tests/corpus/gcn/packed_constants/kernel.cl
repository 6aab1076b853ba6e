// clang-19 -x cl -cl-std=CL2.0 -nogpulib --target=amdgcn-amd-amdhsa -mcpu=gfx900 -O2 -mcode-object-version=4
typedef ushort __attribute__((ext_vector_type(2))) u2;
typedef short __attribute__((ext_vector_type(2))) s2;

kernel void packed_constants(global const u2 *a, global u2 *out)
{
    uint lane = __builtin_amdgcn_workitem_id_x();
    u2 x = a[lane];
    out[lane * 4] = x + (u2)(0, 0x3f80);
    out[lane * 4 + 1] = x * (u2)(0, 0x4080);
    out[lane * 4 + 2] = x - (u2)(0xf983, 0x3e22);
    s2 s = (s2)(x.x, x.y), m = (s2)(0, (short)0xbf00);
    s2 r = s > m ? s : m;
    out[lane * 4 + 3] = (u2)(r.x, r.y);
}
