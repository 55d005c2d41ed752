// any order
// All who store, store the same.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  if (data[i] > 5) out[0] = 1;
}
