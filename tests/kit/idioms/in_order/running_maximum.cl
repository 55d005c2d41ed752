// in order
// Each group compares with what earlier ones have stored.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  if (data[i] * 1000 + i % 1000 > out[0]) out[0] = data[i] * 1000 + i % 1000;
}
