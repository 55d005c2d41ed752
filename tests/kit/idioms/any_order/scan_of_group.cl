// any order
// A prefix sum within each group, by a do loop.
kernel void k(global int* data, global int* out, int n) {
  local int sums[128];
  const int lane = get_local_id(0);
  sums[lane] = 0;
  sums[lane + 64] = data[get_global_id(0)];
  int step = 1;
  do {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int x = sums[lane + 64 - step];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    sums[lane + 64] += x;
    step *= 2;
  } while (step < 64);
  out[get_global_id(0)] = sums[lane + 64];
}
