// waits
// The loop is a goto.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
again:
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (group > 0 && out[group - 1] == 0) goto again;
  if (get_local_id(0) == 0) out[group] = data[group] + 1;
}
