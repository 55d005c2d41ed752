// waits
// Without any fence, behind macros.
#define FLAG(i) out[(i)]
#define ME get_group_id(0)
kernel void k(global int* data, global int* out, int n) {
  if (get_local_id(0) != 0) return;
  while (ME > 0 && !FLAG(ME - 1)) {
  }
  FLAG(ME) = data[ME] + 1;
}
