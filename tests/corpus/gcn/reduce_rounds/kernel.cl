// A tree of sums in LDS. All lanes of a round's waves load t[l + s], in a short branch or not: those that are done, out of bounds.
kernel void reduce_rounds(global const float *a, global float *b) {
  local float t[256];
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (l < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) b[get_group_id(0)] = t[0];
}
