// in order
// The same for a member.
struct Result {
  int best;
  int where;
};
kernel void k(global int* data, global struct Result* out, int n) {
  const int i = get_global_id(0);
  if (data[i] == 12) out->where = i;
}
