// in order
// One function reads what another one stores.
int load(global const int* p, int i) { return i < 0 ? 0 : p[i]; }
void store(global int* p, int i, int x) { p[i] = x; }
kernel void k(global int* data, global int* out, int n) {
  const int i = get_global_id(0);
  store(out, i, data[i] + load(out, i - 64));
}
