// waits
// A loop without a condition of its own, left by a break.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  for (;;) {
    if (group == 0 || out[group - 1] != 0) break;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  if (get_local_id(0) == 0) out[group] = data[group] + 1;
}
