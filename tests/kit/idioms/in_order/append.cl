// in order
// A plain counter.
kernel void k(global int* data, global int* out, int n) {
  if (get_local_id(0) != 0) return;
  const int at = out[0];
  out[0] = at + 1;
  out[at + 1] = get_group_id(0);
}
