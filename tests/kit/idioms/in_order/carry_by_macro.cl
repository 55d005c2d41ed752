// in order
// The same in a macro.
#define AT(i) out[i]
#define ID get_global_id(0)
kernel void k(global int* data, global int* out, int n) {
  AT(ID) = data[ID] + (ID >= 64 ? AT(ID - 64) : 0);
}
