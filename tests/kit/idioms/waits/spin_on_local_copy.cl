// waits
// One work-item polls, and local memory tells the others.
kernel void k(global int* data, global int* out, int n) {
  local int ready;
  const int group = get_group_id(0);
  do {
    if (get_local_id(0) == 0) ready = group == 0 || out[group - 1] != 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  } while (!ready);
  if (get_local_id(0) == 0) out[group] = data[group] + 1;
}
