// Data of all sizes, to and from devices by every kind of transfer, by one thread and by several; also behind user events.
// Prints a checksum of each result on standard output, and on standard error whether it went through memory that is shared
// with a server.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "plain_program.h"
#include "tests/kit/threads.h"

namespace {

using kit::Blocking;
using Bytes = std::vector<unsigned char>;
using Place = std::array<std::size_t, 3>;  // of a box or an image: x, y, z

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kLargest = 41 * kMiB;
const std::size_t kSizes[] = {
    1,        4097,         32767,    32768,        65537,     kMiB - 1,      kMiB,
    kMiB + 1, 5 * kMiB + 3, 8 * kMiB, 8 * kMiB + 1, 16 * kMiB, 17 * kMiB + 5, 33 * kMiB + 7};
constexpr cl_image_format kPixels{CL_RGBA, CL_UNSIGNED_INT8};
constexpr Place kOrigin{};

const char* const kSource =
    "kernel void slow(global uint* out, uint turns) {"
    "  uint x = get_global_id(0); for (uint i = 0; i < turns; ++i) x = x * 1664525u + 1013904223u;"
    "  out[get_global_id(0)] = x; }";

// Four bytes at a time: half of the program's time would go into it otherwise.
Bytes noise(std::size_t size, std::uint64_t state) {
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint32_t)) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto word = static_cast<std::uint32_t>(state >> 32U);
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

void require_same(const void* a, const void* b, std::size_t size, const char* what) {
  require(std::memcmp(a, b, size) == 0, (std::string("the same data: ") + what).c_str());
}

struct Rig {
  cl_device_id device = cl.device_of();
  kit::Context context = cl.context(device);
  kit::Queue queue = make_queue(CL_QUEUE_PROFILING_ENABLE);
  kit::Buffer buffer = cl.buffer(context, kLargest);

  [[nodiscard]] kit::Queue make_queue(cl_command_queue_properties properties = 0) const {
    return cl.queue(context, device, properties);
  }
  // Waits for a command on its own queue.
  void write(cl_mem to, const Bytes& data) const { check(cl.write(queue, to, data)); }
  [[nodiscard]] Bytes read(std::size_t size) const { return cl.read<unsigned char>(queue, buffer, size); }
};

void write_and_read(cl_command_queue queue, cl_mem buffer, std::size_t offset, std::size_t size,
                    std::uint32_t seed, Blocking blocking, const char* what) {
  const Bytes data = noise(size, seed);
  Bytes back(size + 2, 0xAA);
  kit::Event written = cl.event();
  kit::Event read = cl.event();
  check(cl.write(queue, buffer, blocking, std::span(data), offset, {}, written.out()));
  check(cl.read(queue, buffer, blocking, std::span(back).subspan(1, size), offset, {written}, read.out()));
  check(cl.wait({written, read}));
  require_same(data.data(), back.data() + 1, size, what);
  require(back.front() == 0xAA && back.back() == 0xAA, "the bytes beside the data are as before");
}

// All sizes to all places. Large ones take long: each kind of queue and of command has them at one of the places.
void all_sizes(const Rig& rig) {
  std::size_t kind = 0;
  for (const cl_command_queue_properties properties :
       {cl_command_queue_properties{0},
        cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    const kit::Queue queue = rig.make_queue(properties);
    for (const Blocking blocking : {Blocking::yes, Blocking::no}) {
      for (const std::size_t size : kSizes) {
        const std::array offsets{std::size_t{0}, std::size_t{7}, kLargest - size};
        for (std::size_t i = 0; i < offsets.size(); ++i) {
          if (size > kMiB + 1 && i != kind % offsets.size()) continue;
          const auto seed = static_cast<std::uint32_t>(size + offsets[i]);
          write_and_read(queue, rig.buffer, offsets[i], size, seed, blocking, "sizes");
        }
      }
      ++kind;
    }
  }
  std::printf("sizes %08x\n", checksum(rig.read(kLargest)));
}

// Whether an address is of memory that is shared with a server.
bool is_shared(const void* address) {
  std::ifstream file("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(file, line);) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    const std::uintptr_t end = std::strtoull(rest + 1, nullptr, 16);
    if (begin <= wanted && wanted < end) return line.find("memfd:cleave-remote") != std::string::npos;
  }
  return false;
}
bool maps_are_shared = false;

// Maps of large buffers, one behind the other and at once; also of sub-buffers, on both kinds of queues, without blocking, and of
// the memory that another map has just left.
void maps_of_all_kinds(const Rig& rig) {
  constexpr std::size_t kSize = 6 * kMiB;
  for (const cl_command_queue_properties properties :
       {cl_command_queue_properties{0},
        cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}}) {
    const kit::Queue queue = rig.make_queue(properties);
    const kit::Buffer buffer = cl.buffer(rig.context, kSize);
    const kit::Buffer other = cl.buffer(rig.context, kSize, CL_MEM_ALLOC_HOST_PTR);
    for (std::uint32_t i = 0; i < 6; ++i) {
      const Bytes data = noise(kSize, 60 + i);
      kit::Event gone = cl.event();
      auto* const written = cl.map<unsigned char>(queue, buffer, CL_MAP_WRITE_INVALIDATE_REGION, kSize);
      maps_are_shared = is_shared(written);
      std::memcpy(written, data.data(), kSize);
      check(cl.clEnqueueUnmapMemObject(queue, buffer, written, 0, nullptr, gone.out()));
      // Its memory must not be another map's before it has been written.
      auto* const beside = cl.map<unsigned char>(queue, other, CL_MAP_WRITE_INVALIDATE_REGION, kSize);
      std::memset(beside, static_cast<int>(i), kSize);
      check(cl.unmap(queue, other, beside));
      check(cl.wait({gone}));
      kit::Event come = cl.event();
      cl_int error = CL_SUCCESS;
      auto* const part = static_cast<unsigned char*>(cl.clEnqueueMapBuffer(
          queue, buffer, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 5, 3 * kMiB, 0, nullptr, come.out(), &error));
      check(error);
      auto* const rest = cl.map<unsigned char>(queue, buffer, CL_MAP_READ, kSize - 4 * kMiB, 4 * kMiB);
      check(cl.wait({come}));
      require_same(part, data.data() + 5, 3 * kMiB, "the part that is mapped without blocking");
      require_same(rest, data.data() + 4 * kMiB, kSize - 4 * kMiB, "the rest");
      require(rest - part == static_cast<std::ptrdiff_t>(4 * kMiB - 5),
              "maps of a buffer lie in it as its bytes do");
      part[i] ^= 0xFF;
      check(cl.unmap(queue, buffer, part));
      check(cl.unmap(queue, buffer, rest));
      check(cl.clFinish(queue));
    }
    const cl_buffer_region half{4096, kSize / 2};
    cl_int error = CL_SUCCESS;
    const cl_mem sub_buffer =
        cl.clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
    check(error);
    auto* const inside = cl.map<unsigned char>(queue, sub_buffer, CL_MAP_READ | CL_MAP_WRITE, half.size);
    for (std::size_t i = 0; i < half.size; i += 1000) inside[i] = 1;
    check(cl.unmap(queue, sub_buffer, inside));
    check(cl.clFinish(queue));
    check(cl.clReleaseMemObject(sub_buffer));
    std::printf("maps of all kinds %08x %08x\n", checksum(cl.read<unsigned char>(rig.queue, buffer, kSize)),
                checksum(cl.read<unsigned char>(rig.queue, other, kSize)));
  }
}

void boxes_and_maps(const Rig& rig) {
  constexpr std::size_t kRow = 1031;
  constexpr std::size_t kSlice = kRow * 1021;
  constexpr std::size_t kHostRow = 1100;
  constexpr std::size_t kHostSlice = kHostRow * 1100;
  const Place origin{3, 5, 1};
  const Place host_origin{1, 2, 0};
  const Place region{1021, 1013, 3};
  const Bytes data = noise(kHostSlice * 4, 9);
  Bytes back(data.size());
  check(cl.clEnqueueWriteBufferRect(rig.queue, rig.buffer, CL_FALSE, origin.data(), host_origin.data(),
                                    region.data(), kRow, kSlice, kHostRow, kHostSlice, data.data(), 0,
                                    nullptr, nullptr));
  check(cl.clEnqueueReadBufferRect(rig.queue, rig.buffer, CL_TRUE, origin.data(), host_origin.data(),
                                   region.data(), kRow, kSlice, kHostRow, kHostSlice, back.data(), 0, nullptr,
                                   nullptr));
  std::printf("rect %08x\n", checksum(back));
  for (const std::size_t size : {std::size_t{100'001}, 9 * kMiB + 1, 20 * kMiB}) {
    auto* const mapped =
        cl.map<unsigned char>(rig.queue, rig.buffer, CL_MAP_READ | CL_MAP_WRITE, size, /*offset=*/11);
    for (std::size_t i = 0; i < size; i += 3) mapped[i] ^= 0x5A;
    check(cl.unmap(rig.queue, rig.buffer, mapped));
  }
  maps_of_all_kinds(rig);
  Bytes all(kLargest);
  check(cl.read(rig.queue, rig.buffer, Blocking::no, std::span(all)));
  check(cl.clFinish(rig.queue));
  std::printf("maps %08x\n", checksum(all));
}

void images(const Rig& rig) {
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = 601;
  description.image_height = 403;
  const kit::Image image = cl.image(rig.context, kPixels, description);
  const Place region{601, 403, 1};
  const Bytes data = noise(std::size_t{2500} * 403, 12);
  Bytes back(std::size_t{601} * 4 * 403);
  check(cl.clEnqueueWriteImage(rig.queue, image, CL_TRUE, kOrigin.data(), region.data(), 2500, 0, data.data(),
                               0, nullptr, nullptr));
  check(cl.clEnqueueReadImage(rig.queue, image, CL_TRUE, kOrigin.data(), region.data(), 0, 0, back.data(), 0,
                              nullptr, nullptr));
  std::printf("image %08x\n", checksum(back));
}

// A buffer that the host may only write can be mapped for writing, and keeps the bytes that are not written.
void what_the_host_may_only_write(const Rig& rig) {
  constexpr std::size_t kSize = 70'000;
  const kit::Buffer buffer = cl.buffer(rig.context, kSize, CL_MEM_HOST_WRITE_ONLY);
  rig.write(buffer, noise(kSize, 14));
  auto* const part = cl.map<char>(rig.queue, buffer, CL_MAP_WRITE, 300, /*offset=*/100);
  std::memset(part + 10, 7, 20);
  check(cl.unmap(rig.queue, buffer, part));
  check(cl.copy(rig.queue, buffer, rig.buffer, kSize));
  std::printf("buffer that the host may only write %08x\n", checksum(rig.read(kSize)));
}

// A one-dimensional image ignores the other sizes of its description.
void line_of_pixels(const Rig& rig) {
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE1D;
  description.image_width = 200;
  description.image_height = 3;
  description.image_depth = 5;
  description.image_array_size = 7;
  Bytes data = noise(800, 15);
  const Place origin{20, 0, 0};
  const Place region{30, 1, 1};
  const Place all{200, 1, 1};
  for (const cl_mem_flags access : {cl_mem_flags{CL_MEM_READ_WRITE}, cl_mem_flags{CL_MEM_HOST_WRITE_ONLY}}) {
    const kit::Image image =
        cl.image(rig.context, kPixels, description, access | CL_MEM_COPY_HOST_PTR, data.data());
    cl_int error = CL_SUCCESS;
    std::size_t pitch = 0;
    void* const part = cl.clEnqueueMapImage(rig.queue, image, CL_TRUE, CL_MAP_WRITE, origin.data(),
                                            region.data(), &pitch, nullptr, 0, nullptr, nullptr, &error);
    check(error);
    std::memset(part, 9, 40);
    check(cl.unmap(rig.queue, image, part));
    check(cl.clEnqueueCopyImageToBuffer(rig.queue, image, rig.buffer, kOrigin.data(), all.data(), 0, 0,
                                        nullptr, nullptr));
    std::printf("line %08x\n", checksum(rig.read(800)));
  }
}

// Commands behind a user event do not block the caller. They need more than the shared memory, and less than the window.
void behind_a_user_event(const Rig& rig) {
  constexpr std::size_t kLarge = 16 * kMiB;
  const kit::Event gate = cl.user_event(rig.context);
  const Bytes large = noise(kLarge, 20);
  const Bytes small = noise(kMiB, 21);
  Bytes back(kLargest);
  check(cl.write(rig.queue, rig.buffer, Blocking::no, std::span(large), kLargest - kLarge, {gate}));
  for (std::size_t i = 0; i < 64; ++i)
    check(cl.write(rig.queue, rig.buffer, Blocking::no, std::span(small), i % 40 * kMiB));
  check(cl.read(rig.queue, rig.buffer, Blocking::no, std::span(back)));
  check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
  check(cl.clFinish(rig.queue));
  for (std::size_t i = 0; i < 40; ++i)
    require_same(back.data() + i * kMiB, small.data(), kMiB, "the small ones");
  require_same(back.data() + 40 * kMiB, large.data() + kLarge - kMiB, kMiB, "the large one");
  std::printf("gate %08x\n", checksum(back));
}

// A large read fails with the event that it waits for; other commands do not.
void behind_what_fails(const Rig& rig) {
  const kit::Event gate = cl.user_event(rig.context);
  const kit::Queue queue = rig.make_queue();
  Bytes back(5 * kMiB);
  kit::Event read = cl.event();
  check(cl.read(queue, rig.buffer, Blocking::no, std::span(back), 0, {gate}, read.out()));
  check(cl.clSetUserEventStatus(gate, -5));
  std::printf("what fails: %d\n", cl.wait({read}));
  write_and_read(rig.queue, rig.buffer, 0, back.size(), 50, Blocking::yes, "afterwards");
}

// One thread blocks in a transfer until another one sets the user event.
void waiting_for_another_thread(const Rig& rig) {
  const Bytes data = noise(kLargest, 30);
  Bytes back(kLargest);
  for (const bool reads : {false, true}) {
    const kit::Event gate = cl.user_event(rig.context);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      check(cl.clSetUserEventStatus(gate, CL_COMPLETE));
    });
    check(reads ? cl.read(rig.queue, rig.buffer, Blocking::yes, std::span(back), 0, {gate})
                : cl.write(rig.queue, rig.buffer, data, 0, {gate}));
    other.join();
  }
  require_same(back.data(), data.data(), kLargest, "another thread");
  std::printf("another thread %08x\n", checksum(back));
}

void behind_a_slow_kernel(const Rig& rig) {
  const kit::Program program = cl.build(rig.context, kSource);
  const kit::Kernel kernel = cl.kernel(program, "slow", rig.buffer, cl_uint{200'000});
  const Bytes data = noise(kLargest, 40);
  check(cl.launch(rig.queue, kernel, {256}));
  check(cl.write(rig.queue, rig.buffer, Blocking::yes, std::span(data).first(kLargest - kMiB), kMiB));
  check(cl.launch(rig.queue, kernel, {256}));
  std::printf("kernel %08x\n", checksum(rig.read(kLargest)));
}

// Each thread has its queue and buffer; together they need more than the shared memory.
void many_threads(const Rig& rig) {
  kit::on_threads(10, [&](std::size_t thread) {
    const auto number = static_cast<std::uint32_t>(thread);
    const kit::Queue queue = rig.make_queue();
    const kit::Buffer buffer = cl.buffer(rig.context, 13 * kMiB);
    for (std::uint32_t i = 0; i < 6; ++i) {
      const std::size_t size = (11 + i % 2) * kMiB + number * std::size_t{4099} + i;
      write_and_read(queue, buffer, i, size, number * 100 + i, i % 3 != 0 ? Blocking::yes : Blocking::no,
                     "threads");
    }
  });
  std::printf("threads\n");
}

// A transfer has one event, however many parts it is sent in.
void profiled(const Rig& rig) {
  kit::Event event = cl.event();
  check(cl.write(rig.queue, rig.buffer, Bytes(kLargest), 0, {}, event.out()));
  const cl_ulong begin = cl.profiled(event, CL_PROFILING_COMMAND_START);
  const cl_ulong end = cl.profiled(event, CL_PROFILING_COMMAND_END);
  // No machine moves more than some hundreds of GB/s, and a slice of it would take a fraction of that time.
  std::printf("profiled %s\n", end > begin + 40'000 ? "yes" : "no");
}

// Whether memory that is shared with a server has been used.
bool has_shared() {
  std::ifstream file("/proc/self/smaps");
  std::string line;
  bool inside = false;
  bool used = false;
  while (std::getline(file, line)) {
    if (line.find("memfd:cleave-remote") != std::string::npos) inside = true;
    if (line.rfind("Rss:", 0) != 0) continue;
    used |= inside && std::atoi(line.c_str() + 4) > 0;
    inside = false;
  }
  return used;
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
  require(maps_are_shared == has_shared(), "large maps are shared where transfers are");
  std::fprintf(stderr, "%s\n", has_shared() ? "shared" : "not shared");
  return 0;
}
