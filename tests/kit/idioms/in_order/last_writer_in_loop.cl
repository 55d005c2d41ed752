// in order
// All groups store whole rows.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  for (int j = 0; j < 16; ++j) out[j] = data[i] + i;
}
