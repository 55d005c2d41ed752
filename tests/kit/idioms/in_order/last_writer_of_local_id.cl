// in order
// The same for an element of each work-item of a group.
kernel void k(global int* data, global int* out, int n) {
  out[get_local_id(0)] = get_global_id(0);
}
