// Data of all sizes, to and from devices by every kind of transfer, by one thread and by several; also behind user events.
// Prints a checksum of each result on standard output, and on standard error whether it went through memory that is shared
// with a server.
#include <CL/cl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kLargest = 41 * kMiB;
const std::size_t kSizes[] = {
    1,        4097,         32767,    32768,        65537,     kMiB - 1,      kMiB,
    kMiB + 1, 5 * kMiB + 3, 8 * kMiB, 8 * kMiB + 1, 16 * kMiB, 17 * kMiB + 5, 33 * kMiB + 7};

const char* const kSource =
    "kernel void slow(global uint* out, uint turns) {"
    "  uint x = get_global_id(0); for (uint i = 0; i < turns; ++i) x = x * 1664525u + 1013904223u;"
    "  out[get_global_id(0)] = x; }";

void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(1);
}

void require_same(const void* a, const void* b, std::size_t size, const char* what) {
  if (std::memcmp(a, b, size) == 0) return;
  std::fprintf(stderr, "%s: other data than was written\n", what);
  std::exit(1);
}

std::vector<unsigned char> noise(std::size_t size, std::uint32_t seed) {
  std::vector<unsigned char> bytes(size);
  for (unsigned char& one : bytes) {
    seed = seed * 1664525U + 1013904223U;
    one = static_cast<unsigned char>(seed >> 24U);
  }
  return bytes;
}

std::uint32_t checksum(const std::vector<unsigned char>& bytes) {
  std::uint32_t sum = 2166136261U;
  for (const unsigned char one : bytes) sum = (sum ^ one) * 16777619U;
  return sum;
}

struct Rig {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;

  Rig() {
    cl_platform_id platform = nullptr;
    require(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int error = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    require(error, "clCreateContext");
    queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
    buffer = make_buffer(kLargest);
  }

  [[nodiscard]] cl_command_queue make_queue(cl_command_queue_properties properties) const {
    cl_int error = CL_SUCCESS;
    cl_command_queue const made = clCreateCommandQueue(context, device, properties, &error);
    require(error, "clCreateCommandQueue");
    return made;
  }
  [[nodiscard]] cl_mem make_buffer(std::size_t size) const {
    cl_int error = CL_SUCCESS;
    cl_mem const made = clCreateBuffer(context, CL_MEM_READ_WRITE, size, nullptr, &error);
    require(error, "clCreateBuffer");
    return made;
  }
  [[nodiscard]] cl_event make_event() const {
    cl_int error = CL_SUCCESS;
    cl_event const made = clCreateUserEvent(context, &error);
    require(error, "clCreateUserEvent");
    return made;
  }
};

void write_and_read(cl_command_queue queue, cl_mem buffer, std::size_t offset, std::size_t size,
                    std::uint32_t seed, bool blocking, const char* what) {
  const auto data = noise(size, seed);
  std::vector<unsigned char> back(size + 2, 0xAA);
  cl_event events[2] = {};
  require(clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, data.data(), 0, nullptr, events),
          "write");
  require(clEnqueueReadBuffer(queue, buffer, blocking, offset, size, back.data() + 1, 1, events, events + 1),
          "read");
  require(clWaitForEvents(2, events), "wait");
  require_same(data.data(), back.data() + 1, size, what);
  if (back.front() != 0xAA || back.back() != 0xAA) require(-1, "bytes beside the data");
  for (cl_event const one : events) clReleaseEvent(one);
}

void all_sizes(const Rig& rig) {
  for (const cl_command_queue_properties properties :
       {cl_command_queue_properties{0},
        cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    cl_command_queue const queue = rig.make_queue(properties);
    for (const bool blocking : {true, false}) {
      for (const std::size_t size : kSizes) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{7}, kLargest - size})
          write_and_read(queue, rig.buffer, offset, size, static_cast<std::uint32_t>(size + offset), blocking,
                         "sizes");
      }
    }
    clReleaseCommandQueue(queue);
  }
  std::vector<unsigned char> all(kLargest);
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kLargest, all.data(), 0, nullptr, nullptr),
          "read");
  std::printf("sizes %08x\n", checksum(all));
}

void boxes_and_maps(const Rig& rig) {
  const std::size_t origin[] = {3, 5, 1};
  const std::size_t host_origin[] = {1, 2, 0};
  const std::size_t region[] = {1021, 1013, 3};
  const auto data = noise(1100 * 1100 * 4, 9);
  std::vector<unsigned char> back(data.size());
  require(clEnqueueWriteBufferRect(rig.queue, rig.buffer, CL_FALSE, origin, host_origin, region, 1031,
                                   1031 * 1021, 1100, 1100 * 1100, data.data(), 0, nullptr, nullptr),
          "write rect");
  require(clEnqueueReadBufferRect(rig.queue, rig.buffer, CL_TRUE, origin, host_origin, region, 1031,
                                  1031 * 1021, 1100, 1100 * 1100, back.data(), 0, nullptr, nullptr),
          "read rect");
  std::printf("rect %08x\n", checksum(back));
  for (const std::size_t size : {std::size_t{100'001}, 9 * kMiB + 1, 20 * kMiB}) {
    cl_int error = CL_SUCCESS;
    auto* const mapped = static_cast<unsigned char*>(clEnqueueMapBuffer(
        rig.queue, rig.buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 11, size, 0, nullptr, nullptr, &error));
    require(error, "map");
    for (std::size_t i = 0; i < size; i += 3) mapped[i] ^= 0x5A;
    require(clEnqueueUnmapMemObject(rig.queue, rig.buffer, mapped, 0, nullptr, nullptr), "unmap");
  }
  std::vector<unsigned char> all(kLargest);
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_FALSE, 0, kLargest, all.data(), 0, nullptr, nullptr),
          "read");
  require(clFinish(rig.queue), "finish");
  std::printf("maps %08x\n", checksum(all));
}

void images(const Rig& rig) {
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 601;
  description.image_height = 403;
  cl_int error = CL_SUCCESS;
  cl_mem const image = clCreateImage(rig.context, CL_MEM_READ_WRITE, &format, &description, nullptr, &error);
  require(error, "clCreateImage");
  const std::size_t origin[] = {0, 0, 0};
  const std::size_t region[] = {601, 403, 1};
  const auto data = noise(std::size_t{2500} * 403, 12);
  std::vector<unsigned char> back(std::size_t{601} * 4 * 403);
  require(clEnqueueWriteImage(rig.queue, image, CL_TRUE, origin, region, 2500, 0, data.data(), 0, nullptr,
                              nullptr),
          "write image");
  require(
      clEnqueueReadImage(rig.queue, image, CL_TRUE, origin, region, 0, 0, back.data(), 0, nullptr, nullptr),
      "read image");
  std::printf("image %08x\n", checksum(back));
  clReleaseMemObject(image);
}

// A buffer that the host may only write can be mapped for writing, and keeps the bytes that are not written.
void what_the_host_may_only_write(const Rig& rig) {
  constexpr std::size_t kSize = 70'000;
  const auto data = noise(kSize, 14);
  cl_int error = CL_SUCCESS;
  cl_mem const buffer = clCreateBuffer(rig.context, CL_MEM_HOST_WRITE_ONLY, kSize, nullptr, &error);
  require(error, "clCreateBuffer");
  require(clEnqueueWriteBuffer(rig.queue, buffer, CL_TRUE, 0, kSize, data.data(), 0, nullptr, nullptr),
          "write");
  void* const part =
      clEnqueueMapBuffer(rig.queue, buffer, CL_TRUE, CL_MAP_WRITE, 100, 300, 0, nullptr, nullptr, &error);
  require(error, "clEnqueueMapBuffer");
  std::memset(static_cast<char*>(part) + 10, 7, 20);
  require(clEnqueueUnmapMemObject(rig.queue, buffer, part, 0, nullptr, nullptr), "unmap");
  require(clEnqueueCopyBuffer(rig.queue, buffer, rig.buffer, 0, 0, kSize, 0, nullptr, nullptr), "copy");
  std::vector<unsigned char> back(kSize);
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kSize, back.data(), 0, nullptr, nullptr),
          "read");
  std::printf("buffer that the host may only write %08x\n", checksum(back));
  clReleaseMemObject(buffer);
}

// A one-dimensional image ignores the other sizes of its description.
void line_of_pixels(const Rig& rig) {
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE1D;
  description.image_width = 200;
  description.image_height = 3;
  description.image_depth = 5;
  description.image_array_size = 7;
  auto data = noise(800, 15);
  const std::size_t origin[] = {20, 0, 0};
  const std::size_t region[] = {30, 1, 1};
  for (const cl_mem_flags access : {cl_mem_flags{CL_MEM_READ_WRITE}, cl_mem_flags{CL_MEM_HOST_WRITE_ONLY}}) {
    cl_int error = CL_SUCCESS;
    cl_mem const image =
        clCreateImage(rig.context, access | CL_MEM_COPY_HOST_PTR, &format, &description, data.data(), &error);
    require(error, "clCreateImage");
    std::size_t pitch = 0;
    void* const part = clEnqueueMapImage(rig.queue, image, CL_TRUE, CL_MAP_WRITE, origin, region, &pitch,
                                         nullptr, 0, nullptr, nullptr, &error);
    require(error, "clEnqueueMapImage");
    std::memset(part, 9, 40);
    require(clEnqueueUnmapMemObject(rig.queue, image, part, 0, nullptr, nullptr), "unmap");
    const std::size_t start[] = {0, 0, 0};
    const std::size_t all[] = {200, 1, 1};
    require(clEnqueueCopyImageToBuffer(rig.queue, image, rig.buffer, start, all, 0, 0, nullptr, nullptr),
            "copy");
    std::vector<unsigned char> back(800);
    require(
        clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, back.size(), back.data(), 0, nullptr, nullptr),
        "read");
    std::printf("line %08x\n", checksum(back));
    clReleaseMemObject(image);
  }
}

// Commands behind a user event do not block the caller. They need more than the shared memory, and less than the window.
void behind_a_user_event(const Rig& rig) {
  constexpr std::size_t kLarge = 16 * kMiB;
  cl_event const gate = rig.make_event();
  const auto large = noise(kLarge, 20);
  const auto small = noise(kMiB, 21);
  std::vector<unsigned char> back(kLargest);
  require(clEnqueueWriteBuffer(rig.queue, rig.buffer, CL_FALSE, kLargest - kLarge, kLarge, large.data(), 1,
                               &gate, nullptr),
          "write");
  for (std::size_t i = 0; i < 64; ++i) {
    require(clEnqueueWriteBuffer(rig.queue, rig.buffer, CL_FALSE, i % 40 * kMiB, kMiB, small.data(), 0,
                                 nullptr, nullptr),
            "write");
  }
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_FALSE, 0, kLargest, back.data(), 0, nullptr, nullptr),
          "read");
  require(clSetUserEventStatus(gate, CL_COMPLETE), "set");
  require(clFinish(rig.queue), "finish");
  for (std::size_t i = 0; i < 40; ++i)
    require_same(back.data() + i * kMiB, small.data(), kMiB, "the small ones");
  require_same(back.data() + 40 * kMiB, large.data() + kLarge - kMiB, kMiB, "the large one");
  clReleaseEvent(gate);
  std::printf("gate %08x\n", checksum(back));
}

// A large read fails with the event that it waits for; other commands do not.
void behind_what_fails(const Rig& rig) {
  cl_event const gate = rig.make_event();
  cl_command_queue const queue = rig.make_queue(0);
  std::vector<unsigned char> back(5 * kMiB);
  cl_event read = nullptr;
  require(clEnqueueReadBuffer(queue, rig.buffer, CL_FALSE, 0, back.size(), back.data(), 1, &gate, &read),
          "read");
  require(clSetUserEventStatus(gate, -5), "set");
  std::printf("what fails: %d\n", clWaitForEvents(1, &read));
  write_and_read(rig.queue, rig.buffer, 0, back.size(), 50, true, "afterwards");
  for (cl_event const one : {gate, read}) clReleaseEvent(one);
  clReleaseCommandQueue(queue);
}

// One thread blocks in a transfer until another one sets the user event.
void waiting_for_another_thread(const Rig& rig) {
  const auto data = noise(kLargest, 30);
  std::vector<unsigned char> back(kLargest);
  for (const bool reads : {false, true}) {
    cl_event const gate = rig.make_event();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      require(clSetUserEventStatus(gate, CL_COMPLETE), "set");
    });
    if (reads) {
      require(
          clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kLargest, back.data(), 1, &gate, nullptr),
          "read");
    } else {
      require(
          clEnqueueWriteBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kLargest, data.data(), 1, &gate, nullptr),
          "write");
    }
    other.join();
    clReleaseEvent(gate);
  }
  require_same(back.data(), data.data(), kLargest, "another thread");
  std::printf("another thread %08x\n", checksum(back));
}

void behind_a_slow_kernel(const Rig& rig) {
  cl_int error = CL_SUCCESS;
  const char* source = kSource;
  cl_program const program = clCreateProgramWithSource(rig.context, 1, &source, nullptr, &error);
  require(error, "clCreateProgramWithSource");
  require(clBuildProgram(program, 1, &rig.device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel const kernel = clCreateKernel(program, "slow", &error);
  require(error, "clCreateKernel");
  const cl_uint turns = 200'000;
  require(clSetKernelArg(kernel, 0, sizeof rig.buffer, &rig.buffer), "argument");
  require(clSetKernelArg(kernel, 1, sizeof turns, &turns), "argument");
  std::vector<unsigned char> data = noise(kLargest, 40);
  const std::size_t global = 256;
  require(clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
          "launch");
  require(clEnqueueWriteBuffer(rig.queue, rig.buffer, CL_TRUE, kMiB, kLargest - kMiB, data.data(), 0, nullptr,
                               nullptr),
          "write");
  require(clEnqueueNDRangeKernel(rig.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
          "launch");
  require(clEnqueueReadBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kLargest, data.data(), 0, nullptr, nullptr),
          "read");
  std::printf("kernel %08x\n", checksum(data));
  clReleaseKernel(kernel);
  clReleaseProgram(program);
}

// Each thread has its queue and buffer; together they need more than the shared memory.
void many_threads(const Rig& rig) {
  std::vector<std::thread> threads;
  for (std::uint32_t number = 0; number < 10; ++number) {
    threads.emplace_back([&rig, number] {
      cl_command_queue const queue = rig.make_queue(0);
      cl_mem const buffer = rig.make_buffer(13 * kMiB);
      for (std::uint32_t i = 0; i < 6; ++i) {
        const std::size_t size = (11 + i % 2) * kMiB + number * 4099 + i;
        write_and_read(queue, buffer, i, size, number * 100 + i, i % 3 != 0, "threads");
      }
      clReleaseMemObject(buffer);
      clReleaseCommandQueue(queue);
    });
  }
  for (std::thread& one : threads) one.join();
  std::printf("threads\n");
}

// A transfer has one event, however many parts it is sent in.
void profiled(const Rig& rig) {
  std::vector<unsigned char> data(kLargest);
  cl_event event = nullptr;
  require(clEnqueueWriteBuffer(rig.queue, rig.buffer, CL_TRUE, 0, kLargest, data.data(), 0, nullptr, &event),
          "write");
  cl_ulong begin = 0;
  cl_ulong end = 0;
  require(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr),
          "profiling");
  require(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr), "profiling");
  // No machine moves more than some hundreds of GB/s, and a slice of it would take a fraction of that time.
  std::printf("profiled %s\n", end > begin + 40'000 ? "yes" : "no");
  clReleaseEvent(event);
}

// Whether memory that is shared with a server has been used.
bool has_shared() {
  std::ifstream file("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.find("memfd:cleave-remote") != std::string::npos) inside = true;
    if (inside && line.rfind("Rss:", 0) == 0) return std::atoi(line.c_str() + 4) > 0;
  }
  return false;
}

}  // namespace

int main() {
  const Rig rig;
  all_sizes(rig);
  boxes_and_maps(rig);
  images(rig);
  what_the_host_may_only_write(rig);
  line_of_pixels(rig);
  behind_a_user_event(rig);
  behind_what_fails(rig);
  waiting_for_another_thread(rig);
  behind_a_slow_kernel(rig);
  many_threads(rig);
  profiled(rig);
  std::fprintf(stderr, "%s\n", has_shared() ? "shared" : "not shared");
  return 0;
}
