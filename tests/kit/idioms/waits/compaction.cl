// waits
// What passes a test is appended, at places from a counter.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  if (data[i] > 6) out[1 + atomic_inc(out)] = i;
}
