// in order
// All groups store to one element.
kernel void k(global int* data, global int* out, int n) {
  out[0] = get_group_id(0) + data[1];
}
