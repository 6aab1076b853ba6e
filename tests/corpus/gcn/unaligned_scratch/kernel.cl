// clang-19 -x cl -cl-std=CL2.0 -nogpulib --target=amdgcn-amd-amdhsa -mcpu=gfx900 -O2 -fno-strict-aliasing -mcode-object-version=4 -Xclang -target-feature -Xclang +enable-flat-scratch
typedef struct __attribute__((packed)) { uint v; } word;
typedef struct __attribute__((packed)) { ulong a, b; } words;
typedef struct __attribute__((packed)) { ushort v; } half_word;

kernel void unaligned_scratch(global const uint *a, global uint *out, uint at)
{
    uint lane = __builtin_amdgcn_workitem_id_x();
    uint p[32];
    for (uint i = 0; i < 32; i++)
        p[i] = a[(lane * 7 + i) & 63];
    private uchar *bytes = (private uchar *)p + at;
    ((private word *)bytes)->v = a[lane & 63] * 3;
    ((private words *)(bytes + 20))->a = lane * 0x123456789abcdefUL;
    ((private words *)(bytes + 20))->b = lane * 0xfedcba987654321UL;
    ((private half_word *)(bytes + 50))->v = lane * 0x1235;
    uint h = ((private word *)(bytes + 57))->v;
    // Each lane at another place.
    h = h * 31 + ((private word *)((private uchar *)p + (lane * 5 & 63)))->v;
    for (uint i = 0; i < 32; i++)
        h = h * 31 + p[i];
    out[lane] = h;
}
