/* A stand-in for NVIDIA's management library: one GPU that tells its energy, and one that does not. */
#include <stdio.h>

__attribute__((visibility("default"))) int nvmlInit_v2(void) { return 0; }
__attribute__((visibility("default"))) int nvmlShutdown(void) { return 0; }
__attribute__((visibility("default"))) int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static char devices[2];
  *device = &devices[index];
  return index < 2 ? 0 : 2;
}
__attribute__((visibility("default"))) int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  (void)device;
  snprintf(name, size, "NVIDIA Test GPU");
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  (void)device;
  snprintf(uuid, size, "GPU-0123");
  return 0;
}
__attribute__((visibility("default"))) int nvmlDeviceGetTotalEnergyConsumption(
    void* device, unsigned long long* millijoules) {
  static void* first;
  if (first == NULL) first = device;
  *millijoules = 1234500;
  return device == first ? 0 : 3;
}
