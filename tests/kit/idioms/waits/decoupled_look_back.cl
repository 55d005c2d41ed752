// waits
// A prefix sum that looks back over sums and prefixes of earlier groups.
kernel void k(global const int* data, global int* out, int n) {
  const int group = get_group_id(0);
  if (get_local_id(0) != 0) return;
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += data[group * 64 + i];
  atomic_xchg(&out[2 * group + 1], sum);
  atomic_xchg(&out[2 * group], group == 0 ? 2 : 1);
  int before = 0;
  for (int look = group - 1; look >= 0;) {
    const int state = atomic_add(&out[2 * look], 0);
    if (state == 0) continue;
    before += atomic_add(&out[2 * look + 1], 0);
    if (state == 2) break;
    --look;
  }
  if (group > 0) {
    atomic_xchg(&out[2 * group + 1], before + sum);
    atomic_xchg(&out[2 * group], 2);
  }
  out[1024 + group] = before;
}
