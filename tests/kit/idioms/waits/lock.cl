// waits
// Groups exclude each other by a lock.
kernel void k(global int* data, global int* out, int n) {
  if (get_local_id(0) != 0) return;
  while (atomic_cmpxchg(out, 0, 1) != 0) {
  }
  out[1] = out[1] * 3 + get_group_id(0);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_xchg(out, 0);
}
