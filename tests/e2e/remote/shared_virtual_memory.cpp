// Uses coarse-grained shared virtual memory as its specification allows, and prints its contents. Run by
// test_shared_virtual_memory.py.
#include <CL/cl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace {

const char* const kSource = R"(
typedef struct Node { global struct Node* next; int value; int seen; } Node;

kernel void walk(global Node* first, global int* sum) {
  for (global Node* node = first; node != 0; node = node->next) {
    sum[0] += node->value;
    node->seen += 1;
  }
}

kernel void chain(global Node* nodes, int count) {
  for (int i = 0; i < count; ++i) {
    nodes[i].next = i + 1 < count ? nodes + i + 1 : 0;
    nodes[i].value = i * i;
  }
}

kernel void add(global int* data, int by) { data[get_global_id(0)] += by; }

kernel void copy(global const int* from, global int* to) { to[get_global_id(0)] = from[get_global_id(0)]; }
)";

struct Node {
  Node* next;
  cl_int value;
  cl_int seen;
};

cl_device_id device;
cl_context context;
cl_command_queue queue;
cl_command_queue unordered;
cl_program program;

void check(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::printf("%s: %d\n", what, error);
  std::fflush(stdout);
  std::_Exit(1);
}

void begin() {
  cl_platform_id platform = nullptr;
  cl_int error = CL_SUCCESS;
  check(clGetPlatformIDs(1, &platform, nullptr), "platform");
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "device");
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  check(error, "context");
  queue = clCreateCommandQueueWithProperties(context, device, nullptr, &error);
  check(error, "queue");
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  unordered = clCreateCommandQueueWithProperties(context, device, list, &error);
  check(error, "queue out of order");
  const char* source = kSource;
  program = clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  check(error, "program");
  check(clBuildProgram(program, 1, &device, "-cl-std=CL2.0 -cl-kernel-arg-info", nullptr, nullptr), "build");
  cl_device_svm_capabilities capabilities = 0;
  check(clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof capabilities, &capabilities, nullptr),
        "capabilities");
  std::printf("coarse-grained: %d\n", (capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0);
}

template <typename T>
T* allocate(std::size_t count, cl_uint alignment = 0) {
  void* const memory = clSVMAlloc(context, CL_MEM_READ_WRITE, count * sizeof(T), alignment);
  if (memory == nullptr) check(CL_OUT_OF_RESOURCES, "clSVMAlloc");
  if (alignment != 0 && reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) std::puts("not aligned");
  return static_cast<T*>(memory);
}

void map(cl_command_queue on, void* memory, std::size_t size, cl_map_flags flags) {
  check(clEnqueueSVMMap(on, CL_TRUE, flags, memory, size, 0, nullptr, nullptr), "map");
}
void unmap(cl_command_queue on, void* memory) {
  check(clEnqueueSVMUnmap(on, memory, 0, nullptr, nullptr), "unmap");
}

cl_kernel kernel_of(const char* name) {
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel = clCreateKernel(program, name, &error);
  check(error, name);
  return kernel;
}

void launch(cl_command_queue on, cl_kernel kernel, std::size_t items, std::vector<cl_event> waits = {},
            cl_event* event = nullptr) {
  check(clEnqueueNDRangeKernel(on, kernel, 1, nullptr, &items, nullptr, static_cast<cl_uint>(waits.size()),
                               waits.empty() ? nullptr : waits.data(), event),
        "launch");
}

void add(cl_command_queue on, void* data, std::size_t items, cl_int by) {
  const cl_kernel kernel = kernel_of("add");
  check(clSetKernelArgSVMPointer(kernel, 0, data), "pointer");
  check(clSetKernelArg(kernel, 1, sizeof by, &by), "argument");
  launch(on, kernel, items);
  clReleaseKernel(kernel);
}

void print(const char* what, const cl_int* data, std::size_t count) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + static_cast<unsigned>(data[i]);
  std::printf("%s: %08x, %d ... %d\n", what, sum, data[0], data[count - 1]);
}

void a_round() {
  constexpr std::size_t kCount = 100'000;
  auto* const data = allocate<cl_int>(kCount, 128);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_WRITE_INVALIDATE_REGION);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<cl_int>(i);
  unmap(queue, data);
  add(queue, data, kCount, 5);
  // Changes a part, and nothing beside it.
  map(queue, data + 100, 400, CL_MAP_READ | CL_MAP_WRITE);
  print("a part", data + 100, 100);
  for (int i = 100; i < 200; ++i) data[i] = -data[i];
  unmap(queue, data + 100);
  add(queue, data + 150, 100, 1000);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_READ);
  print("all", data, kCount);
  unmap(queue, data);
  // A map for writing keeps the words that are not written.
  map(queue, data, 64, CL_MAP_WRITE);
  data[3] = 333;
  unmap(queue, data);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_READ);
  print("a word", data, kCount);
  unmap(queue, data);
  clFinish(queue);
  clSVMFree(context, data);
}

// Pointers in shared memory are valid on the host and the device.
void lists() {
  auto* const some = allocate<Node>(40);
  auto* const others = allocate<Node>(40);
  auto* const sum = allocate<cl_int>(1);
  map(queue, some, 40 * sizeof(Node), CL_MAP_WRITE);
  map(queue, others, 40 * sizeof(Node), CL_MAP_WRITE);
  map(queue, sum, sizeof(cl_int), CL_MAP_WRITE);
  *sum = 0;
  for (int i = 0; i < 40; ++i) {
    some[i] = {&others[39 - i], i, 0};
    others[i] = {i > 0 ? &some[40 - i] : nullptr, 1000 * i, 0};
  }
  unmap(queue, some);
  unmap(queue, others);
  unmap(queue, sum);
  const cl_kernel walk = kernel_of("walk");
  check(clSetKernelArgSVMPointer(walk, 0, some), "pointer");
  check(clSetKernelArgSVMPointer(walk, 1, sum), "pointer");
  const void* more[] = {others};
  check(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof more, more), "pointers");
  launch(queue, walk, 1);
  check(clSetKernelArgSVMPointer(walk, 0, &others[7]), "a pointer into a block");
  launch(queue, walk, 1);
  map(queue, some, 40 * sizeof(Node), CL_MAP_READ);
  map(queue, others, 40 * sizeof(Node), CL_MAP_READ);
  map(queue, sum, sizeof(cl_int), CL_MAP_READ);
  int seen = 0;
  for (const Node* node = some; node != nullptr; node = node->next) seen += node->seen;
  std::printf("a list: %d, seen %d\n", *sum, seen);
  for (void* const memory : {static_cast<void*>(some), static_cast<void*>(others), static_cast<void*>(sum)})
    unmap(queue, memory);
  // And pointers that a kernel has written.
  const cl_kernel chain = kernel_of("chain");
  const cl_int count = 25;
  check(clSetKernelArgSVMPointer(chain, 0, others), "pointer");
  check(clSetKernelArg(chain, 1, sizeof count, &count), "argument");
  launch(queue, chain, 1);
  map(queue, others, 40 * sizeof(Node), CL_MAP_READ);
  int length = 0;
  int all = 0;
  for (const Node* node = others; node != nullptr; node = node->next) ++length, all += node->value;
  std::printf("a kernel's list: %d, %d\n", length, all);
  unmap(queue, others);
  clFinish(queue);
  clReleaseKernel(walk);
  clReleaseKernel(chain);
  for (void* const memory : {static_cast<void*>(some), static_cast<void*>(others), static_cast<void*>(sum)})
    clSVMFree(context, memory);
}

void copies() {
  constexpr std::size_t kCount = 3000;
  constexpr std::size_t kBytes = kCount * sizeof(cl_int);
  auto* const first = allocate<cl_int>(kCount);
  auto* const second = allocate<cl_int>(kCount);
  std::vector<cl_int> here(kCount);
  std::vector<cl_int> there(kCount);
  for (std::size_t i = 0; i < kCount; ++i) here[i] = static_cast<cl_int>(7 * i);
  const auto copy = [&](const char* what, cl_bool blocking, void* to, const void* from, std::size_t bytes) {
    check(clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, 0, nullptr, nullptr), what);
  };
  copy("in", CL_FALSE, first, here.data(), kBytes);
  std::fill(here.begin(), here.begin() + 1, 0);
  copy("in", CL_TRUE, first, here.data(), 4);
  add(queue, first, kCount, 1);
  copy("over", CL_FALSE, second, first, kBytes);
  copy("within", CL_FALSE, second + 10, second + 2000, 400);
  copy("out", CL_TRUE, there.data(), second, kBytes);
  print("copied", there.data(), kCount);
  copy("out", CL_FALSE, there.data() + 100, first + 50, 40);
  copy("beside", CL_TRUE, here.data(), there.data(), kBytes);
  print("beside", here.data(), kCount);
  const cl_int nine = 9;
  check(clEnqueueSVMMemFill(queue, second + 4, &nine, sizeof nine, 400, 0, nullptr, nullptr), "fill");
  const char byte = 0x11;
  check(clEnqueueSVMMemFill(queue, second + 200, &byte, 1, 40, 0, nullptr, nullptr), "fill");
  copy("out", CL_TRUE, there.data(), second, kBytes);
  print("filled", there.data(), kCount);
  const void* moved[] = {first, second};
  check(clEnqueueSVMMigrateMem(queue, 2, moved, nullptr, 0, 0, nullptr, nullptr), "migrate");
  std::printf("overlap: %d\n", clEnqueueSVMMemcpy(queue, CL_TRUE, first, first + 1, 16, 0, nullptr, nullptr));
  std::printf("null: %d %d\n", clEnqueueSVMMemcpy(queue, CL_TRUE, nullptr, first, 4, 0, nullptr, nullptr),
              clEnqueueSVMMemFill(queue, nullptr, &nine, 4, 4, 0, nullptr, nullptr));
  std::printf("patterns: %d %d\n", clEnqueueSVMMemFill(queue, first, &nine, 3, 3, 0, nullptr, nullptr),
              clEnqueueSVMMemFill(queue, first, &nine, 4, 6, 0, nullptr, nullptr));
  clFinish(queue);
  clSVMFree(context, first);
  clSVMFree(context, second);
}

// Commands that are ordered by events alone.
void events() {
  constexpr std::size_t kCount = 5000;
  constexpr std::size_t kBytes = kCount * sizeof(cl_int);
  auto* const data = allocate<cl_int>(kCount);
  cl_int error = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(context, &error);
  cl_event filled = nullptr;
  cl_event added = nullptr;
  cl_event mapped = nullptr;
  const cl_int three = 3;
  check(clEnqueueSVMMemFill(unordered, data, &three, sizeof three, kBytes, 1, &gate, &filled), "fill");
  const cl_kernel kernel = kernel_of("add");
  check(clSetKernelArgSVMPointer(kernel, 0, data), "pointer");
  check(clSetKernelArg(kernel, 1, sizeof three, &three), "argument");
  launch(unordered, kernel, kCount, {filled}, &added);
  check(clEnqueueSVMMap(unordered, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, data, kBytes, 1, &added, &mapped),
        "map");
  cl_int status = CL_QUEUED;
  clGetEventInfo(mapped, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  cl_command_type type = 0;
  clGetEventInfo(mapped, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr);
  std::printf("held up: %d, type %x\n", status > CL_COMPLETE, type);
  check(clSetUserEventStatus(gate, CL_COMPLETE), "open");
  check(clWaitForEvents(1, &mapped), "wait");
  print("after events", data, kCount);
  data[0] = 77;
  cl_event done = nullptr;
  check(clEnqueueSVMUnmap(unordered, data, 0, nullptr, &done), "unmap");
  cl_event invalidated = nullptr;
  check(clEnqueueSVMMap(unordered, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, data + 1, 4, 1, &done,
                        &invalidated),
        "map");
  check(clWaitForEvents(1, &invalidated), "wait");
  data[1] = 78;
  cl_event again = nullptr;
  check(clEnqueueSVMUnmap(unordered, data + 1, 0, nullptr, &again), "unmap");
  std::vector<cl_int> here(kCount);
  check(clEnqueueSVMMemcpy(unordered, CL_TRUE, here.data(), data, kBytes, 1, &again, nullptr), "out");
  print("after more events", here.data(), kCount);
  for (const cl_event event : {gate, filled, added, mapped, done, invalidated, again}) clReleaseEvent(event);
  clFinish(unordered);
  clReleaseKernel(kernel);
  clSVMFree(context, data);
}

void CL_CALLBACK free_them(cl_command_queue, cl_uint count, void* pointers[], void* data) {
  for (cl_uint i = 0; i < count; ++i) clSVMFree(context, pointers[i]);
  *static_cast<cl_uint*>(data) += count;
}

void frees() {
  std::vector<void*> pointers;
  for (int i = 0; i < 4; ++i) pointers.push_back(allocate<cl_int>(100));
  add(queue, pointers[0], 100, 1);
  check(clEnqueueSVMFree(queue, 2, pointers.data(), nullptr, nullptr, 0, nullptr, nullptr), "free");
  static cl_uint freed = 0;
  cl_event event = nullptr;
  check(clEnqueueSVMFree(queue, 2, pointers.data() + 2, &free_them, &freed, 0, nullptr, &event), "free");
  check(clWaitForEvents(1, &event), "wait");
  cl_command_type type = 0;
  clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr);
  std::printf("freed by the program: %u, type %x\n", freed, type);
  clReleaseEvent(event);
  clFinish(queue);
}

// A buffer over shared memory: both have the same contents.
void buffers() {
  constexpr std::size_t kCount = 2000;
  auto* const data = allocate<cl_int>(kCount);
  const cl_int one = 1;
  check(clEnqueueSVMMemFill(queue, data, &one, sizeof one, kCount * sizeof one, 0, nullptr, nullptr), "fill");
  clFinish(queue);
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                       1000 * sizeof(cl_int), data + 100, &error);
  check(error, "buffer");
  const cl_kernel kernel = kernel_of("add");
  const cl_int by = 41;
  check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "argument");
  check(clSetKernelArg(kernel, 1, sizeof by, &by), "argument");
  launch(queue, kernel, 1000);
  add(queue, data, kCount, 100);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_READ);
  print("through the pointer", data, kCount);
  unmap(queue, data);
  auto* const seen = static_cast<cl_int*>(clEnqueueMapBuffer(
      queue, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 40, 400, 0, nullptr, nullptr, &error));
  check(error, "map the buffer");
  std::printf("the same memory: %d; ", seen == data + 110);
  print("through the buffer", seen, 100);
  seen[5] = 5;
  check(clEnqueueUnmapMemObject(queue, buffer, seen, 0, nullptr, nullptr), "unmap the buffer");
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_READ);
  print("back through the pointer", data, kCount);
  unmap(queue, data);
  clFinish(queue);
  clReleaseKernel(kernel);
  clReleaseMemObject(buffer);
  clFinish(queue);
  clSVMFree(context, data);
}

// Blocks of all sizes, many on a page, used and freed in any order, compared with arrays on the host.
void many() {
  std::mt19937 random(7);
  struct Block {
    cl_int* data;
    std::vector<cl_int> expected;
  };
  std::deque<Block> blocks;
  unsigned wrong = 0;
  for (int i = 0; i < 400; ++i) {
    if (blocks.size() < 20 || random() % 3 != 0) {
      const std::size_t count = 1 + random() % (random() % 8 == 0 ? 20'000 : 60);
      blocks.push_back({allocate<cl_int>(count), std::vector<cl_int>(count)});
      Block& made = blocks.back();
      for (cl_int& value : made.expected) value = static_cast<cl_int>(random());
      check(clEnqueueSVMMemcpy(queue, CL_FALSE, made.data, made.expected.data(), count * sizeof(cl_int), 0,
                               nullptr, nullptr),
            "in");
      clFinish(queue);
    }
    Block& block = blocks[random() % blocks.size()];
    const auto count = block.expected.size();
    add(queue, block.data, count, i);
    for (cl_int& value : block.expected)
      value = static_cast<cl_int>(static_cast<unsigned>(value) + static_cast<unsigned>(i));
    map(queue, block.data, count * sizeof(cl_int), CL_MAP_READ | CL_MAP_WRITE);
    for (std::size_t k = 0; k < count; ++k) wrong += block.data[k] != block.expected[k] ? 1 : 0;
    block.data[count - 1] = block.expected[count - 1] = i;
    unmap(queue, block.data);
    if (blocks.size() > 20) {
      void* freed = blocks.front().data;
      if (i % 2 == 0) {
        check(clEnqueueSVMFree(queue, 1, &freed, nullptr, nullptr, 0, nullptr, nullptr), "free");
      } else {
        clFinish(queue);
        clSVMFree(context, freed);
      }
      blocks.pop_front();
    }
  }
  clFinish(queue);
  for (const Block& block : blocks) clSVMFree(context, block.data);
  std::printf("many: %u wrong\n", wrong);
}

void large() {
  constexpr std::size_t kCount = 8U << 20U;
  auto* const data = allocate<cl_int>(kCount);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_WRITE_INVALIDATE_REGION);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<cl_int>(i * 2654435761U);
  unmap(queue, data);
  add(queue, data, kCount, -1);
  map(queue, data, kCount * sizeof(cl_int), CL_MAP_READ);
  print("large", data, kCount);
  unmap(queue, data);
  clFinish(queue);
  clSVMFree(context, data);
}

}  // namespace

int main() {
  begin();
  a_round();
  lists();
  copies();
  events();
  frees();
  buffers();
  many();
  large();
  clSVMFree(context, nullptr);
  std::printf("nothing: %d\n", clSVMAlloc(context, CL_MEM_READ_WRITE, 0, 0) == nullptr);
  clReleaseProgram(program);
  clReleaseCommandQueue(unordered);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
