// waits
// A counted loop that takes its step back until the flag is there.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  for (int i = 0; i < 1; ++i) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (group > 0 && out[group - 1] == 0) --i;
  }
  if (get_local_id(0) == 0) out[group] = data[group] + 1;
}
