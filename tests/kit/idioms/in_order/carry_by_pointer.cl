// in order
// The same with a pointer to the row of the group.
kernel void k(global int* data, global int* out, int n) {
  const int lane = get_local_id(0);
  global int* row = out + get_group_id(0) * 64;
  row[lane] = data[lane] + (get_group_id(0) > 0 ? row[lane - 64] : 0);
}
