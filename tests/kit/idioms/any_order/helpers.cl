// any order
// Functions load, compute and store one element each.
#define SCALE(x) ((x) * 3)
int load(global const int* p, int i) { return p[i]; }
void axpy(global int* y, int i, int x) { y[i] = y[i] + SCALE(x); }
kernel void k(global int* data, global int* out, int n) {
  axpy(out, get_global_id(0), load(data, get_global_id(0)));
}
