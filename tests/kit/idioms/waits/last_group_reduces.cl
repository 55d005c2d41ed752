// waits
// The group that ends last adds up what all have stored.
kernel void k(global int* data, global int* out, int n) {
  local int last;
  const int group = get_group_id(0);
  if (get_local_id(0) == 0) {
    int sum = 0;
    for (int i = 0; i < 64; ++i) sum += data[group * 64 + i];
    out[2 + group] = sum;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    last = atomic_inc(out) == get_num_groups(0) - 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (last && get_local_id(0) == 0) {
    int sum = 0;
    for (int i = 0; i < get_num_groups(0); ++i) sum += out[2 + i];
    out[1] = sum * 10 + group;
  }
}
