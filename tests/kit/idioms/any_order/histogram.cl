// any order
// Additions whose results nobody uses.
kernel void k(global int* data, global int* out, int n) {
  atomic_inc(&out[data[get_global_id(0)]]);
}
