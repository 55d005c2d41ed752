// any order
// Loops over what a buffer says, which nothing stores.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  int sum = 0;
  for (int j = data[i]; j < data[i] + 5; ++j) sum += data[j];
  int next = data[i];
  while (next != 0 && sum < 1000) {
    sum += next;
    next = data[next] - 1;
  }
  out[i] = sum;
}
