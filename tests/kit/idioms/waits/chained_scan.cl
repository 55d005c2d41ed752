// waits
// A prefix sum in which each group adds the sum of the groups before it, by a fence and a flag.
kernel void k(global const int* data, volatile global int* out, int n) {
  local int before;
  const int group = get_group_id(0);
  if (get_local_id(0) == 0) {
    while (group > 0 && out[2 * group - 1] == 0) mem_fence(CLK_GLOBAL_MEM_FENCE);
    before = group > 0 ? out[2 * group - 2] : 0;
    int sum = before;
    for (int i = 0; i < 64; ++i) sum += data[group * 64 + i];
    out[2 * group] = sum;
    write_mem_fence(CLK_GLOBAL_MEM_FENCE);
    out[2 * group + 1] = 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[1024 + get_global_id(0)] = before;
}
