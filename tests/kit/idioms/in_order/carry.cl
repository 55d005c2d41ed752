// in order
// Each group goes on from the one before.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  out[i] = data[i] + (i >= 64 ? out[i - 64] : 0);
}
