// waits
// Macros stand for the loop, the flag and the fence.
#define FENCE (CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define SYNC barrier(FENCE)
#define FLAG(i) out[(i)]
#define WAIT_FOR(i) while ((i) >= 0 && FLAG(i) == 0) SYNC
kernel void k(global int* data, global int* out, int n) {
  const int group = get_group_id(0);
  WAIT_FOR(group - 1);
  if (get_local_id(0) == 0) FLAG(group) = data[group] + 1;
}
