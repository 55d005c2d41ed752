// waits
// The flag is copied to a variable, which ends the loop.
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  int done = 0;
  do {
    if (group == 0 || out[group - 1] != 0) done = 1;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  } while (!done);
  if (get_local_id(0) == 0) out[group] = data[group] + 1;
}
