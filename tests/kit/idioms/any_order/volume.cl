// any order
// Sizes of a volume from one id, and loops that end early.
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  const int x = i % 16;
  const int y = i / 16;
  int rounds = 0;
  while (true) {
    if (rounds * rounds > data[i] || rounds > 100) break;
    ++rounds;
  }
  out[y * 16 + x] = rounds;
}
