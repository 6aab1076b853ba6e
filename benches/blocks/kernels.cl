// Images of 1920 by 1088 floats in blocks of several sizes: clang-14 -x cl -cl-std=CL2.0 -Xclang -finclude-default-header
// -target amdgcn-amd-amdhsa -mcpu=fiji -O3 -nogpulib -c kernels.cl -o kernels.o; ld.lld -shared kernels.o -o fiji.co
#define X __builtin_amdgcn_workitem_id_x()
#define Y __builtin_amdgcn_workitem_id_y()
#define WIDE __builtin_amdgcn_workgroup_size_x()
#define HIGH __builtin_amdgcn_workgroup_size_y()
#define PLACE \
    int x = __builtin_amdgcn_workgroup_id_x() * WIDE + X; \
    int y = __builtin_amdgcn_workgroup_id_y() * HIGH + Y
#define BARRIER \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier(); \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

kernel void copy(global const float *a, global float *b, int w) {
    PLACE;
    b[y * w + x] = a[y * w + x] * 2.0f;
}

// The sum of four neighbours.
kernel void neighbours(global const float *a, global float *b, int w) {
    PLACE;
    if (x > 0 && x < 1919 && y > 0 && y < 1086)
        b[y * w + x] = a[y * w + x - 1] + a[y * w + x + 1] + a[(y - 1) * w + x] + a[(y + 1) * w + x];
}

// Sums of a tile's rows and columns in LDS.
kernel void tiles(global const float *a, global float *b, int w) {
    local float t[256];
    int lx = X, ly = Y, wide = WIDE, high = HIGH;
    PLACE;
    t[ly * wide + lx] = a[y * w + x];
    BARRIER;
    float s = 0;
    for (int j = 0; j < wide; j++)
        s += t[ly * wide + j];
    for (int j = 0; j < high; j++)
        s += t[j * wide + lx];
    b[y * w + x] = s;
}
