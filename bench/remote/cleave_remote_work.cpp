// The work of `cleave bench remote`, on one platform: calls, launches, transfers, maps, products, each in seconds.
// Prints one line of JSON, with the names of the platform and device, the file of the driver that they are of, and whether a
// Cleave is in between: what the loader offers depends on the environment. Sockets are measured in the same run, as the
// baseline.
//
//   cleave_remote_work PLATFORM [--quick | --identify | --product SIDE]      PLATFORM: part of the platform's name
//   cleave_remote_work PLATFORM --between MIB                                of a platform with the devices of two servers
//
// --identify: only say which platform that is. --product: only the time of one product of that size, from the choice of the platform
// to the result. --between: only how long so many contents take from one device of the platform to another, after a kernel there has
// written them, and over a plain socket.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "cleave/cleave.h"
#include "socket.h"
#include "tests/kit/linked.h"
#include "tests/kit/timing.h"

namespace {

using cleave::bench::exchange;
using cleave::bench::SocketKind;
using kit::Blocking;
using kit::duration_of;

constexpr std::size_t kLarge = std::size_t{64} << 20U;
constexpr std::size_t kSmall = 4096;

constexpr const char* kSource =
    "kernel void nothing() {}\n"
    "kernel void number(int n, global int* out) { if (n < 0) out[0] = n; }\n"
    "kernel void product(int n, global const float* a, global const float* b, global float* c) {\n"
    "  int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];\n"
    "  c[y * n + x] = sum; }\n"
    "kernel void stamp(uint n, global uint* x) { size_t i = get_global_id(0); x[i] = (uint)i * 2654435761u ^ "
    "n; }\n"
    "kernel void differ(uint n, global const uint* x, global uint* found) {\n"
    "  size_t i = get_global_id(0); if (x[i] != ((uint)i * 2654435761u ^ n)) atomic_inc(found); }\n";

[[noreturn]] void end_program(const char* call, cl_int error, const kit::Where& /*where*/) {
  std::fprintf(stderr, "%s: error %d\n", call, error);
  std::exit(2);
}

const kit::Api cl(kit::linked_table(), end_program);

template <typename Work>
double median_of(unsigned repeats, const Work& work) {
  std::vector<double> seconds;
  for (unsigned i = 0; i < repeats; ++i) seconds.push_back(duration_of(work));
  return kit::median(seconds);
}

class Figures {
 public:
  void add(const std::string& name, double value) { put(name, std::to_string(value * 1e6)); }
  void add(const std::string& name, std::string words) {
    // Names usually contain nothing that JSON has to escape, but that is not guaranteed.
    std::replace_if(words.begin(), words.end(), needs_escape, ' ');
    put(name, '"' + words + '"');
  }
  void print() const { std::printf("%s}\n", text_.c_str()); }

 private:
  static bool needs_escape(char one) { return one == '"' || one == '\\' || (one >= 0 && one < ' '); }
  void put(const std::string& name, const std::string& value) {
    text_ += (text_.empty() ? "{" : ", ") + ("\"" + name + "\": ") + value;
  }

  std::string text_;  // microseconds
};

struct Device {
  cl_device_id id = nullptr;
  kit::Context context;
  kit::Queue queue;
  kit::Program program;

  void launch(cl_kernel kernel, const kit::Range& range = 1) const {
    cl.check("launch", cl.launch(queue, kernel, range));
  }
};

// The file of the driver behind a platform: loaders need the first word of each handle to be the driver's own table.
std::string driver_of(cl_platform_id platform) {
  const auto* const* const table = *reinterpret_cast<void** const*>(platform);
  Dl_info found{};
  const bool known = table != nullptr && dladdr(table[0], &found) != 0 && found.dli_fname != nullptr;
  return known ? found.dli_fname : "";
}

bool is_under_cleave(cl_platform_id platform) {
  return cl.clGetExtensionFunctionAddressForPlatform(platform, CL_CLEAVE_GET_INFO_NAME) != nullptr;
}

cl_platform_id identify(cl_device_id device, Figures& figures) {
  const auto platform = cl.info<cl_platform_id>(device, CL_DEVICE_PLATFORM);
  figures.add("platform", cl.text(platform, CL_PLATFORM_VERSION));
  figures.add("device", cl.text(device, CL_DEVICE_NAME));
  const bool is_processor = (cl.info<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  figures.add("processor", std::string(is_processor ? "yes" : "no"));
  figures.add("driver", driver_of(platform));
  figures.add("under Cleave", std::string(is_under_cleave(platform) ? "yes" : "no"));
  return platform;
}

Device begin(const std::string& platform_name, Figures& figures) {
  Device device;
  figures.add("start", duration_of([&] {
                device.id = cl.device_of(platform_name);
                if (device.id == nullptr) {
                  std::fprintf(stderr, "no platform is called %s\n", platform_name.c_str());
                  std::exit(2);
                }
                device.context = cl.context(device.id);
                device.queue = cl.queue(device.context, device.id);
              }));
  identify(device.id, figures);
  device.program = cl.build(device.context, kSource);
  return device;
}

// Many times `enqueue`, and the end of all: how long a call takes the client's thread, and how long altogether.
template <typename Enqueue>
void measure_many(const Device& device, const std::string& what, const Enqueue& enqueue, Figures& figures) {
  constexpr cl_int kMany = 10'000;
  std::vector<double> enqueuing;
  const double whole = median_of(5, [&] {
    enqueuing.push_back(duration_of([&] {
      for (cl_int i = 0; i < kMany; ++i) enqueue(i);
    }));
    cl.clFinish(device.queue);
  });
  figures.add(what + " of 10000, on the client's thread", kit::median(enqueuing) / kMany);
  figures.add(what + " of 10000, to the end", whole / kMany);
}

void measure_launches(const Device& device, unsigned repeats, Figures& figures) {
  const kit::Kernel nothing = cl.kernel(device.program, "nothing");
  const auto once = [&] {
    device.launch(nothing);
    cl.clFinish(device.queue);
  };
  for (int i = 0; i < 100; ++i) once();
  figures.add("launch and finish", median_of(repeats, once));
  measure_many(
      device, "a launch", [&](cl_int) { device.launch(nothing); }, figures);
  const kit::Buffer out = cl.buffer(device.context, sizeof(cl_int));
  const kit::Kernel number = cl.kernel(device.program, "number", cl_int{0}, out);
  const auto set_and_launch = [&](cl_int i) {
    cl.check("clSetKernelArg", cl.set_argument(number, 0, i));
    device.launch(number);
  };
  measure_many(device, "argument and launch", set_and_launch, figures);
}

void measure_transfers(const Device& device, unsigned repeats, Figures& figures) {
  const kit::Buffer buffer = cl.buffer(device.context, kLarge);
  std::vector<char> memory(kLarge, 'x');
  const auto write = [&](std::size_t size) {
    const std::span<const char> from(memory.data(), size);
    cl.check("write", cl.write(device.queue, buffer, Blocking::yes, from));
  };
  const auto read = [&](std::size_t size) {
    cl.check("read", cl.read(device.queue, buffer, Blocking::yes, std::span(memory.data(), size)));
  };
  write(kLarge);
  read(kLarge);
  figures.add("write 64 MiB", median_of(9, [&] { write(kLarge); }));
  figures.add("read 64 MiB", median_of(9, [&] { read(kLarge); }));
  figures.add("write 4 KiB", median_of(repeats, [&] { write(kSmall); }));
  figures.add("read 4 KiB", median_of(repeats, [&] { read(kSmall); }));
}

// Maps of a buffer in memory that a native driver has pinned, each until the unmap has ended. What is mapped is not touched.
void measure_maps(const Device& device, unsigned repeats, Figures& figures) {
  const kit::Buffer buffer = cl.buffer(device.context, kLarge, CL_MEM_ALLOC_HOST_PTR);
  const auto map_once = [&](cl_map_flags flags, std::size_t size, const auto& use) {
    auto* const mapped = cl.map<char>(device.queue, buffer, flags, size);
    use(mapped);
    cl.check("unmap", cl.unmap(device.queue, buffer, mapped));
    cl.clFinish(device.queue);
  };
  const auto nothing = [](char*) {};
  map_once(CL_MAP_WRITE_INVALIDATE_REGION, kLarge, [](char* all) { std::fill_n(all, kLarge, 'm'); });
  map_once(CL_MAP_READ, kLarge, [](const char* all) {
    if (std::count(all, all + kLarge, 'm') != static_cast<std::ptrdiff_t>(kLarge))
      end_program("a map with wrong contents", CL_INVALID_VALUE, {});
  });
  for (const auto& [flags, what] : {std::pair{cl_map_flags{CL_MAP_READ}, "map for reading"},
                                    {cl_map_flags{CL_MAP_WRITE}, "map for writing"},
                                    {cl_map_flags{CL_MAP_WRITE_INVALIDATE_REGION}, "map to overwrite"}}) {
    const std::string name(what);
    figures.add(name + " 64 MiB", median_of(9, [&, flags = flags] { map_once(flags, kLarge, nothing); }));
    figures.add(name + " 4 KiB",
                median_of(repeats, [&, flags = flags] { map_once(flags, kSmall, nothing); }));
  }
}

// A product of two matrices of ones, with its transfers.
class Product {
 public:
  Product(const Device& device, cl_int n)
      : device_(device),
        side_(static_cast<std::size_t>(n)),
        host_(side_ * side_, 1.0F),
        a_(cl.buffer(device.context, host_.size() * sizeof(float))),
        b_(cl.buffer(device.context, host_.size() * sizeof(float))),
        c_(cl.buffer(device.context, host_.size() * sizeof(float))),
        kernel_(cl.kernel(device.program, "product", n, a_, b_, c_)) {}

  // Seconds that went into transfers.
  double run() {
    double moved = duration_of([&] {
      cl.write(device_.queue, a_, host_);
      cl.write(device_.queue, b_, host_);
    });
    device_.launch(kernel_, kit::Sizes(side_, side_));
    cl.clFinish(device_.queue);
    moved +=
        duration_of([&] { cl.check("read", cl.read(device_.queue, c_, Blocking::yes, std::span(host_))); });
    if (host_[0] != static_cast<float>(side_)) end_program("a wrong product", CL_INVALID_VALUE, {});
    std::fill(host_.begin(), host_.end(), 1.0F);
    return moved;
  }

 private:
  const Device& device_;
  std::size_t side_;
  std::vector<float> host_;
  kit::Buffer a_, b_, c_;
  kit::Kernel kernel_;
};

void measure_products(const Device& device, Figures& figures) {
  for (const cl_int n : {64, 128, 256, 512}) {
    Product product(device, n);
    std::vector<double> moving;
    const auto once = [&] { moving.push_back(product.run()); };
    once();
    moving.clear();
    figures.add("product " + std::to_string(n), median_of(15, once));
    figures.add("product " + std::to_string(n) + ", transfers", kit::median(moving));
  }
}

// All of a program that multiplies once: its context, its build, its product.
void measure_one_product(const std::string& platform, cl_int n, Figures& figures) {
  Device device;
  figures.add("product", duration_of([&] {
                device = begin(platform, figures);
                Product(device, n).run();
              }));
}

void measure_sockets(unsigned repeats, Figures& figures) {
  for (const auto& [kind, name] :
       {std::pair{SocketKind::tcp, "tcp"}, std::pair{SocketKind::unix_socket, "unix"}}) {
    const std::string prefix = std::string(name) + " ";
    figures.add(prefix + "ping-pong", exchange(kind, 1, false, repeats));
    figures.add(prefix + "4 KiB", exchange(kind, kSmall, false, repeats));
    figures.add(prefix + "64 MiB", exchange(kind, kLarge, false, 9));
    figures.add(prefix + "64 MiB back", exchange(kind, kLarge, true, 9));
  }
}

void measure_between(const std::string& platform_name, std::size_t bytes, Figures& figures) {
  constexpr unsigned kTurns = 5;
  figures.add("tcp contents", exchange(SocketKind::tcp, bytes, false, kTurns));
  const cl_device_id first = cl.device_of(platform_name);
  if (first == nullptr) end_program("no such platform", CL_INVALID_PLATFORM, {});
  const std::vector<cl_device_id> devices = cl.devices(identify(first, figures));
  if (devices.size() < 2) end_program("the platform has one device", CL_INVALID_DEVICE, {});
  const kit::Context context = cl.context(devices);
  const kit::Queue here = cl.queue(context, devices.front());
  const kit::Queue there = cl.queue(context, devices.back());
  const kit::Program program = cl.build(context, kSource);
  const kit::Buffer contents = cl.buffer(context, bytes);
  const kit::Kernel stamp = cl.kernel(program, "stamp", cl_uint{0}, contents);
  std::vector<double> seconds;
  // The first turn is not measured: the buffers' pages are new.
  for (cl_uint turn = 0; turn <= kTurns; ++turn) {
    cl.check("clSetKernelArg", cl.set_argument(stamp, 0, turn));
    cl.check("launch", cl.launch(here, stamp, bytes / sizeof(cl_uint)));
    cl.check("clFinish", cl.clFinish(here));
    const double passed = duration_of([&] {
      cl.check("clEnqueueMigrateMemObjects",
               cl.clEnqueueMigrateMemObjects(there, 1, contents.list(), 0, 0, nullptr, nullptr));
      cl.check("clFinish", cl.clFinish(there));
    });
    if (turn > 0) seconds.push_back(passed);
    std::vector<cl_uint> found(1);
    const kit::Buffer differences = cl.buffer(context, found);
    const kit::Kernel differ = cl.kernel(program, "differ", turn, contents, differences);
    cl.check("launch", cl.launch(there, differ, bytes / sizeof(cl_uint)));
    cl.check("read", cl.read(there, differences, Blocking::yes, std::span(found)));
    if (found[0] != 0) end_program("wrong contents", CL_INVALID_VALUE, {});
  }
  figures.add("contents", kit::median(seconds));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s PLATFORM [--quick | --identify | --product SIDE | --between MIB]\n",
                 arguments[0]);
    return 2;
  }
  const std::string option = count > 2 ? arguments[2] : "";
  const unsigned repeats = option == "--quick" ? 200 : 2000;
  const bool measures = option != "--identify";
  Figures figures;
  if (option == "--between" && count > 3) {
    measure_between(arguments[1], std::strtoull(arguments[3], nullptr, 10) << 20U, figures);
    figures.print();
    return 0;
  }
  if (option == "--product" && count > 3) {
    measure_one_product(arguments[1], std::atoi(arguments[3]), figures);
    figures.print();
    return 0;
  }
  if (measures) measure_sockets(repeats, figures);
  const Device device = begin(arguments[1], figures);
  if (measures) {
    measure_launches(device, repeats, figures);
    measure_transfers(device, repeats, figures);
    measure_maps(device, repeats, figures);
    measure_products(device, figures);
  }
  figures.print();
  return 0;
}
