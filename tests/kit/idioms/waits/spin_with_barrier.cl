// waits
// The same with a barrier of global memory in the loop, and a plain flag.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  while (group > 0 && out[group - 1] == 0) barrier(CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) out[group] = (group > 0 ? out[group - 1] : 0) + data[group] + 1;
}
