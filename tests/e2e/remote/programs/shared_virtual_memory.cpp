// Uses coarse-grained shared virtual memory as its specification allows, and prints its contents. Run by
// test_shared_virtual_memory.py.
#include <algorithm>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <random>

#include "plain_program.h"

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

struct Rig {
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device, std::initializer_list<cl_queue_properties>());
  const kit::Queue unordered =
      cl.queue(context, device, {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0});
  const kit::Program program = cl.build(context, kSource, "-cl-std=CL3.0 -cl-kernel-arg-info");

  template <typename T>
  [[nodiscard]] T* allocate(std::size_t count, cl_uint alignment = 0) const {
    void* const memory = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, count * sizeof(T), alignment);
    require(memory != nullptr, "there is shared memory");
    if (alignment != 0 && reinterpret_cast<std::uintptr_t>(memory) % alignment != 0) std::puts("not aligned");
    return static_cast<T*>(memory);
  }
  void map(void* memory, std::size_t size, cl_map_flags flags) const {
    check(cl.clEnqueueSVMMap(queue, CL_TRUE, flags, memory, size, 0, nullptr, nullptr));
  }
  void unmap(void* memory) const { check(cl.clEnqueueSVMUnmap(queue, memory, 0, nullptr, nullptr)); }
  [[nodiscard]] cl_int fill(void* memory, const void* pattern, std::size_t pattern_size,
                            std::size_t size) const {
    return cl.clEnqueueSVMMemFill(queue, memory, pattern, pattern_size, size, 0, nullptr, nullptr);
  }
  [[nodiscard]] cl_int copy(cl_bool blocking, void* to, const void* from, std::size_t size) const {
    return cl.clEnqueueSVMMemcpy(queue, blocking, to, from, size, 0, nullptr, nullptr);
  }
  // Of a local size: PoCL compiles a kernel anew for each that it chooses.
  void launch(cl_kernel kernel, std::size_t items) const { check(cl.launch(queue, kernel, {items, 1})); }

  [[nodiscard]] kit::Kernel add_to(void* data, cl_int by) const {
    kit::Kernel kernel = cl.kernel(program, "add");
    check(cl.clSetKernelArgSVMPointer(kernel, 0, data));
    check(cl.set_argument(kernel, 1, by));
    return kernel;
  }
  void add(void* data, std::size_t items, cl_int by) const { launch(add_to(data, by), items); }
};

// Shared memory that is free at the end of its scope, when the queues have.
template <typename T>
class Shared {
 public:
  Shared(const Rig& rig, std::size_t count, cl_uint alignment = 0)
      : rig_(rig), data_(rig.allocate<T>(count, alignment)), count_(count) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    cl.clFinish(rig_.queue);
    cl.clFinish(rig_.unordered);
    cl.clSVMFree(rig_.context, data_);
  }

  void map(cl_map_flags flags) const { rig_.map(data_, count_ * sizeof(T), flags); }
  void unmap() const { rig_.unmap(data_); }
  operator T*() const { return data_; }  // NOLINT(google-explicit-constructor)

 private:
  const Rig& rig_;
  T* data_;
  std::size_t count_;
};

void print(const char* what, const cl_int* data, std::size_t count) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = sum * 31 + static_cast<unsigned>(data[i]);
  std::printf("%s: %08x, %d ... %d\n", what, sum, data[0], data[count - 1]);
}

void print_mapped(const char* what, const Shared<cl_int>& data, std::size_t count) {
  data.map(CL_MAP_READ);
  print(what, data, count);
  data.unmap();
}

void use_in_turns(const Rig& rig) {
  constexpr std::size_t kCount = 100'000;
  const Shared<cl_int> data(rig, kCount, 128);
  data.map(CL_MAP_WRITE_INVALIDATE_REGION);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<cl_int>(i);
  data.unmap();
  rig.add(data, kCount, 5);
  // Changes a part, and nothing else.
  rig.map(data + 100, 400, CL_MAP_READ | CL_MAP_WRITE);
  print("a part", data + 100, 100);
  for (int i = 100; i < 200; ++i) data[i] = -data[i];
  rig.unmap(data + 100);
  rig.add(data + 150, 100, 1000);
  print_mapped("all", data, kCount);
  // A map for writing keeps the words that are not written.
  rig.map(data, 64, CL_MAP_WRITE);
  data[3] = 333;
  data.unmap();
  print_mapped("a word", data, kCount);
}

// Pointers in shared memory are valid on the host and the device.
void use_lists(const Rig& rig) {
  const Shared<Node> some(rig, 40);
  const Shared<Node> others(rig, 40);
  const Shared<cl_int> sum(rig, 1);
  some.map(CL_MAP_WRITE);
  others.map(CL_MAP_WRITE);
  sum.map(CL_MAP_WRITE);
  *sum = 0;
  for (int i = 0; i < 40; ++i) {
    some[i] = {&others[39 - i], i, 0};
    others[i] = {i > 0 ? &some[40 - i] : nullptr, 1000 * i, 0};
  }
  some.unmap();
  others.unmap();
  sum.unmap();
  const kit::Kernel walk = cl.kernel(rig.program, "walk");
  check(cl.clSetKernelArgSVMPointer(walk, 0, some));
  check(cl.clSetKernelArgSVMPointer(walk, 1, sum));
  const void* more[] = {others};
  check(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof more, more));
  rig.launch(walk, 1);
  check(cl.clSetKernelArgSVMPointer(walk, 0, &others[7]));
  rig.launch(walk, 1);
  some.map(CL_MAP_READ);
  others.map(CL_MAP_READ);
  sum.map(CL_MAP_READ);
  int seen = 0;
  for (const Node* node = some; node != nullptr; node = node->next) seen += node->seen;
  std::printf("a list: %d, seen %d\n", *sum, seen);
  some.unmap();
  others.unmap();
  sum.unmap();
  // And pointers that a kernel has written.
  const kit::Kernel chain = cl.kernel(rig.program, "chain");
  check(cl.clSetKernelArgSVMPointer(chain, 0, others));
  check(cl.set_argument(chain, 1, cl_int{25}));
  rig.launch(chain, 1);
  others.map(CL_MAP_READ);
  int length = 0;
  int all = 0;
  for (const Node* node = others; node != nullptr; node = node->next) ++length, all += node->value;
  std::printf("a kernel's list: %d, %d\n", length, all);
  others.unmap();
}

void copy_and_fill(const Rig& rig) {
  constexpr std::size_t kCount = 3000;
  constexpr std::size_t kBytes = kCount * sizeof(cl_int);
  const Shared<cl_int> first(rig, kCount);
  const Shared<cl_int> second(rig, kCount);
  std::vector<cl_int> here(kCount);
  std::vector<cl_int> there(kCount);
  for (std::size_t i = 0; i < kCount; ++i) here[i] = static_cast<cl_int>(7 * i);
  check(rig.copy(CL_FALSE, first, here.data(), kBytes));
  std::fill(here.begin(), here.begin() + 1, 0);
  check(rig.copy(CL_TRUE, first, here.data(), 4));
  rig.add(first, kCount, 1);
  check(rig.copy(CL_FALSE, second, first, kBytes));
  check(rig.copy(CL_FALSE, second + 10, second + 2000, 400));
  check(rig.copy(CL_TRUE, there.data(), second, kBytes));
  print("copied", there.data(), kCount);
  check(rig.copy(CL_FALSE, there.data() + 100, first + 50, 40));
  check(rig.copy(CL_TRUE, here.data(), there.data(), kBytes));
  print("beside", here.data(), kCount);
  const cl_int nine = 9;
  check(rig.fill(second + 4, &nine, sizeof nine, 400));
  const char byte = 0x11;
  check(rig.fill(second + 200, &byte, 1, 40));
  check(rig.copy(CL_TRUE, there.data(), second, kBytes));
  print("filled", there.data(), kCount);
  const void* moved[] = {first, second};
  check(clEnqueueSVMMigrateMem(rig.queue, 2, moved, nullptr, 0, 0, nullptr, nullptr));
  std::printf("overlap: %d\n", rig.copy(CL_TRUE, first, first + 1, 16));
  std::printf("null: %d %d\n", rig.copy(CL_TRUE, nullptr, first, 4), rig.fill(nullptr, &nine, 4, 4));
  std::printf("patterns: %d %d\n", rig.fill(first, &nine, 3, 3), rig.fill(first, &nine, 4, 6));
}

// Commands that are ordered by events alone.
void order_by_events(const Rig& rig) {
  constexpr std::size_t kCount = 5000;
  constexpr std::size_t kBytes = kCount * sizeof(cl_int);
  const cl_command_queue unordered = rig.unordered;
  const Shared<cl_int> data(rig, kCount);
  const kit::Event gate = cl.user_event(rig.context);
  kit::Event filled = cl.event();
  kit::Event mapped = cl.event();
  const cl_int three = 3;
  check(cl.clEnqueueSVMMemFill(unordered, data, &three, sizeof three, kBytes, 1, gate.list(), filled.out()));
  const kit::Kernel kernel = rig.add_to(data, three);
  const kit::Event added = cl.launch_event(unordered, kernel, {kCount}, {filled});
  check(cl.clEnqueueSVMMap(unordered, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, data, kBytes, 1, added.list(),
                           mapped.out()));
  const cl_int status = cl.status(mapped);
  std::printf("held up: %d, type %x\n", status > CL_COMPLETE,
              cl.info<cl_command_type>(mapped, CL_EVENT_COMMAND_TYPE));
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  check(cl.wait({mapped}));
  print("after events", data, kCount);
  data[0] = 77;
  kit::Event done = cl.event();
  check(cl.clEnqueueSVMUnmap(unordered, data, 0, nullptr, done.out()));
  kit::Event invalidated = cl.event();
  check(cl.clEnqueueSVMMap(unordered, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, data + 1, 4, 1, done.list(),
                           invalidated.out()));
  check(cl.wait({invalidated}));
  data[1] = 78;
  kit::Event again = cl.event();
  check(cl.clEnqueueSVMUnmap(unordered, data + 1, 0, nullptr, again.out()));
  std::vector<cl_int> here(kCount);
  check(cl.clEnqueueSVMMemcpy(unordered, CL_TRUE, here.data(), data, kBytes, 1, again.list(), nullptr));
  print("after more events", here.data(), kCount);
}

struct Freeing {
  cl_context context;
  cl_uint freed = 0;
};

void CL_CALLBACK free_them(cl_command_queue, cl_uint count, void* pointers[], void* data) {
  auto& freeing = *static_cast<Freeing*>(data);
  for (cl_uint i = 0; i < count; ++i) cl.clSVMFree(freeing.context, pointers[i]);
  freeing.freed += count;
}

void free_in_a_command(const Rig& rig) {
  std::vector<void*> pointers;
  for (int i = 0; i < 4; ++i) pointers.push_back(rig.allocate<cl_int>(100));
  rig.add(pointers[0], 100, 1);
  check(clEnqueueSVMFree(rig.queue, 2, pointers.data(), nullptr, nullptr, 0, nullptr, nullptr));
  Freeing freeing{rig.context};
  kit::Event event = cl.event();
  check(clEnqueueSVMFree(rig.queue, 2, pointers.data() + 2, &free_them, &freeing, 0, nullptr, event.out()));
  check(cl.wait({event}));
  std::printf("freed by the program: %u, type %x\n", freeing.freed,
              cl.info<cl_command_type>(event, CL_EVENT_COMMAND_TYPE));
  cl.clFinish(rig.queue);
}

// A buffer over shared memory: both have the same contents.
void use_as_a_buffer(const Rig& rig) {
  constexpr std::size_t kCount = 2000;
  const Shared<cl_int> data(rig, kCount);
  const cl_int one = 1;
  check(rig.fill(data, &one, sizeof one, kCount * sizeof one));
  cl.clFinish(rig.queue);
  const kit::Buffer buffer =
      cl.buffer(rig.context, 1000 * sizeof(cl_int), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, data + 100);
  rig.launch(cl.kernel(rig.program, "add", buffer, cl_int{41}), 1000);
  rig.add(data, kCount, 100);
  print_mapped("through the pointer", data, kCount);
  auto* const seen = cl.map<cl_int>(rig.queue, buffer, CL_MAP_READ | CL_MAP_WRITE, 100, /*offset=*/40);
  std::printf("the same memory: %d; ", seen == data + 110);
  print("through the buffer", seen, 100);
  seen[5] = 5;
  check(cl.unmap(rig.queue, buffer, seen));
  print_mapped("back through the pointer", data, kCount);
  cl.clFinish(rig.queue);
}

// Blocks of all sizes, many on a page, used and freed in any order, compared with arrays on the host.
void use_many_blocks(const Rig& rig) {
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
      blocks.push_back({rig.allocate<cl_int>(count), std::vector<cl_int>(count)});
      Block& made = blocks.back();
      for (cl_int& value : made.expected) value = static_cast<cl_int>(random());
      check(rig.copy(CL_FALSE, made.data, made.expected.data(), count * sizeof(cl_int)));
      cl.clFinish(rig.queue);
    }
    Block& block = blocks[random() % blocks.size()];
    const auto count = block.expected.size();
    rig.add(block.data, count, i);
    for (cl_int& value : block.expected)
      value = static_cast<cl_int>(static_cast<unsigned>(value) + static_cast<unsigned>(i));
    rig.map(block.data, count * sizeof(cl_int), CL_MAP_READ | CL_MAP_WRITE);
    for (std::size_t k = 0; k < count; ++k) wrong += block.data[k] != block.expected[k] ? 1 : 0;
    block.data[count - 1] = block.expected[count - 1] = i;
    rig.unmap(block.data);
    if (blocks.size() > 20) {
      void* freed = blocks.front().data;
      if (i % 2 == 0) {
        check(clEnqueueSVMFree(rig.queue, 1, &freed, nullptr, nullptr, 0, nullptr, nullptr));
      } else {
        cl.clFinish(rig.queue);
        cl.clSVMFree(rig.context, freed);
      }
      blocks.pop_front();
    }
  }
  cl.clFinish(rig.queue);
  for (const Block& block : blocks) cl.clSVMFree(rig.context, block.data);
  std::printf("many: %u wrong\n", wrong);
}

void use_a_large_block(const Rig& rig) {
  constexpr std::size_t kCount = 8U << 20U;
  const Shared<cl_int> data(rig, kCount);
  data.map(CL_MAP_WRITE_INVALIDATE_REGION);
  for (std::size_t i = 0; i < kCount; ++i) data[i] = static_cast<cl_int>(i * 2654435761U);
  data.unmap();
  rig.add(data, kCount, -1);
  print_mapped("large", data, kCount);
}

}  // namespace

int main() {
  const Rig rig;
  const auto capabilities = cl.info<cl_device_svm_capabilities>(rig.device, CL_DEVICE_SVM_CAPABILITIES);
  std::printf("coarse-grained: %d\n", (capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0);
  use_in_turns(rig);
  use_lists(rig);
  copy_and_fill(rig);
  order_by_events(rig);
  free_in_a_command(rig);
  use_as_a_buffer(rig);
  use_many_blocks(rig);
  use_a_large_block(rig);
  cl.clSVMFree(rig.context, nullptr);
  std::printf("nothing: %d\n", cl.clSVMAlloc(rig.context, CL_MEM_READ_WRITE, 0, 0) == nullptr);
  return 0;
}
