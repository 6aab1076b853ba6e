// Constants, variables of the program, pointers to them, and a function that is called: what a linker has to put together.
__constant int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__constant int *__constant tables[2] = {primes, squares};
global int counter = 1000;
global int touched[64];

__attribute__((noinline)) int mix(int a, int b) { return a * 31 + (b ^ (a >> 3)); }

kernel void vars(global int *out, global const int *in) {
    uint i = (uint)__builtin_amdgcn_workitem_id_x();
    int v = mix(in[i], tables[i & 1][i & 7]);
    touched[i] = v;
    __builtin_amdgcn_s_barrier();
    out[i] = touched[63 - i] + counter;
}
