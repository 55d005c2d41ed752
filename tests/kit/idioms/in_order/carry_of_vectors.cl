// in order
// The same with vectors.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  if (i < 512) vstore4(vload4(i, data) + (i >= 64 ? vload4(i - 64, out) : (int4)(0)), i, out);
}
