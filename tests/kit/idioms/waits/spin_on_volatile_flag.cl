// waits
// Each group waits for the one before it by polling a volatile flag.
kernel void k(global int* data, volatile global int* out, int n) {
  const int group = get_group_id(0);
  if (get_local_id(0) != 0) return;
  while (group > 0 && out[group - 1] == 0) {
  }
  out[group] = (group > 0 ? out[group - 1] : 0) + data[group] + 1;
}
