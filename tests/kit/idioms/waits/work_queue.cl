// waits
// Persistent groups that take their work from a queue.
kernel void k(global int* data, global int* out, int n) {
  local int task;
  for (;;) {
    if (get_local_id(0) == 0) task = atomic_inc(out);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int mine = task;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (mine >= 80) break;
    out[64 + mine * 64 + get_local_id(0)] = data[mine] + get_group_id(0);
  }
}
