// in order
// The element is known only by a pointer.
kernel void k(global int* data, global int* out, int n) {
  global int* last = out + n;
  if (data[get_global_id(0)] > 3) *last = get_global_id(0);
}
