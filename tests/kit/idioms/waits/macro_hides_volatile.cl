// waits
// A cast to volatile in a macro.
#define POLL(p) (*(volatile global int*)(p))
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  if (get_local_id(0) != 0) return;
  while (group > 0 && POLL(out + group - 1) == 0) {
  }
  out[group] = data[group] + 1;
}
