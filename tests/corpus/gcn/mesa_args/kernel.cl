// Nothing here reads the arguments that Mesa hides behind a kernel's own, so compilers leave no room for them.
kernel void mesa_args(global unsigned *out, unsigned a, unsigned b, unsigned long c) {
  unsigned i = __builtin_amdgcn_workitem_id_x();
  out[i] = a * i + b + (unsigned)(c >> 32) + (unsigned)c;
}
