// any order
// The same with a while, over several elements each.
kernel void k(global int* data, global int* out, int n) {
  local int part[64];
  const uint lane = get_local_id(0);
  int sum = 0;
  uint i = get_global_id(0);
  while (i < n) {
    sum += data[i];
    i += get_global_size(0);
  }
  part[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  uint width = 32;
  while (width > 0) {
    if (lane < width) part[lane] += part[lane + width];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    width /= 2;
  }
  if (lane == 0) out[get_group_id(0)] = part[0];
}
