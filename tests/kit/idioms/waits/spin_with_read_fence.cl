// waits
// Polling with a read fence.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  if (get_local_id(0) != 0) return;
  while (group > 0 && out[group - 1] == 0) read_mem_fence(CLK_GLOBAL_MEM_FENCE);
  out[group] = data[group] + 1;
}
