// any order
// Each work-item replaces its own element.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  data[i] = data[i] * 3 + 1;
  out[i] += data[i];
}
