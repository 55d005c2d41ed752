// any order
// A step of a bitonic sort: pairs are read and stored.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  const int j = i ^ 1;
  if (i < j && data[i] > data[j]) {
    const int x = data[i];
    data[i] = data[j];
    data[j] = x;
  }
}
