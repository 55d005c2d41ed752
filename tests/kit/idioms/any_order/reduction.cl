// any order
// A tree in local memory, one result for each group.
kernel void k(global int* data, global int* out, int n) {
  local int part[64];
  const int lane = get_local_id(0);
  part[lane] = data[get_global_id(0)];
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int width = get_local_size(0) / 2; width > 0; width >>= 1) {
    if (lane < width) part[lane] += part[lane + width];
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  if (lane == 0) out[get_group_id(0)] = part[0];
}
