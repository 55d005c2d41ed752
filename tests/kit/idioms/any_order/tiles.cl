// any order
// A tiled product that fences more than it needs.
#define TILE 64
kernel void k(global const int* data, global int* out, int n) {
  local int tile[TILE];
  const int i = get_global_id(0);
  int sum = 0;
  for (int t = 0; t < 4; ++t) {
    tile[get_local_id(0)] = data[t * TILE + get_local_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int j = 0; j < TILE; ++j) sum += tile[j] * (i + j);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  }
  out[i] = sum;
}
