#include "checked_work.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "tests/kit/linked.h"

namespace work {
namespace {

using kit::Blocking;
using std::chrono::steady_clock;
using Numbers = std::vector<cl_uint>;

// Longer than any connection lives without a heartbeat.
constexpr std::chrono::seconds kHangTimeout{120};

constexpr const char* kSource = "kernel void add(global uint* data, uint n) { data[get_global_id(0)] += n; }";

std::mutex slowest_call_mutex;
SlowestCall slowest_call_so_far;
thread_local const char* last_call = "no call";

void note_duration(const char* call, steady_clock::time_point begun) {
  const std::chrono::duration<double, std::milli> took = steady_clock::now() - begun;
  const std::scoped_lock lock(slowest_call_mutex);
  if (took.count() > slowest_call_so_far.milliseconds) slowest_call_so_far = {call, took.count()};
}

template <typename Result, typename... Arguments>
void check_result(const char* call, Result result, Arguments... arguments) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    if (std::string_view(call).starts_with("clRelease") && result != CL_SUCCESS)
      fail(call, "error " + std::to_string(result));
  } else if constexpr (sizeof...(Arguments) > 0) {
    const auto last = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(last)>, cl_int*>) {
      if (result == nullptr && last != nullptr && *last == CL_SUCCESS) fail(call, "nothing, and no error");
    }
  }
}

// One function of the linked table, timed. kName: a pointer to the name.
template <auto kMember, const char* const* kName>
struct Timed;
template <typename Result, typename... Arguments,
          Result (CL_API_CALL* cl_icd_dispatch::*kMember)(Arguments...), const char* const* kName>
struct Timed<kMember, kName> {
  static Result CL_API_CALL call(Arguments... arguments) {
    static const auto function = kit::linked_table().*kMember;
    last_call = *kName;
    const auto begun = steady_clock::now();
    if constexpr (std::is_void_v<Result>) {
      function(arguments...);
      note_duration(*kName, begun);
    } else {
      const Result result = function(arguments...);
      note_duration(*kName, begun);
      check_result(*kName, result, arguments...);
      return result;
    }
  }
};

#define WORK_NAME(name) constexpr const char* k_##name = #name;
KIT_FUNCTIONS(WORK_NAME)
#undef WORK_NAME

cl_icd_dispatch timed_table() {
  cl_icd_dispatch table{};
#define WORK_TIMED(name) table.name = &Timed<&cl_icd_dispatch::name, &k_##name>::call;
  KIT_FUNCTIONS(WORK_TIMED)
#undef WORK_TIMED
  return table;
}

void report_failure(const char* call, cl_int error, const kit::Where& /*where*/) {
  if (error == CL_DEVICE_NOT_AVAILABLE || error == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    throw DeviceLost{call, error};
  fail(call, "error " + std::to_string(error));
}

std::size_t between(Random& random, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(random);
}

Numbers random_numbers(Random& random, std::size_t count) {
  Numbers numbers(count);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<cl_uint>(random()); });
  return numbers;
}

std::size_t size_of(const Numbers& numbers) { return numbers.size() * sizeof numbers[0]; }

kit::Buffer buffer_for(const Worker& worker, const Numbers& numbers) {
  return cl().buffer(*worker.context, size_of(numbers));
}

void expect_same(const char* call, const Numbers& expected, const cl_uint* found) {
  if (!std::equal(expected.begin(), expected.end(), found)) fail(call, "wrong data");
}

Numbers read(const Worker& worker, cl_mem buffer, std::size_t count) {
  return cl().read<cl_uint>(worker.queue, buffer, count);
}

void add_with(const Worker& worker, cl_kernel kernel, Random& random, std::size_t count) {
  Numbers numbers = random_numbers(random, count);
  const auto n = static_cast<cl_uint>(random());
  const kit::Buffer buffer = buffer_for(worker, numbers);
  check(cl().write(worker.queue, buffer, numbers));
  check(cl().set_arguments(kernel, buffer, n));
  // Of a local size: PoCL compiles a kernel anew for each that it chooses.
  check(cl().launch(worker.queue, kernel, {count, 1}));
  const Numbers found = read(worker, buffer, count);
  for (cl_uint& one : numbers) one += n;
  expect_same("a launch", numbers, found.data());
}

// Large data to one buffer, to another and back, without waiting before the end.
void transfer(const Worker& worker, Random& random) {
  const Numbers numbers =
      random_numbers(random, between(random, 1, std::size_t{16} << between(random, 0, 16)));
  Numbers back(numbers.size());
  const kit::Buffer first = buffer_for(worker, numbers);
  const kit::Buffer second = buffer_for(worker, numbers);
  std::array<kit::Event, 3> events{cl().event(), cl().event(), cl().event()};
  check(cl().write(worker.queue, first, Blocking::no, std::span(numbers), 0, {}, events[0].out()));
  // Commands in flight use this function's memory until they have ended, however they end.
  const auto wait_for_each = [&] {
    for (const kit::Event& one : events) {
      if (one) cl().wait({one});
    }
  };
  try {
    check(cl().copy(worker.queue, first, second, size_of(numbers), 0, 0, {}, events[1].out()));
    check(cl().read(worker.queue, second, Blocking::no, std::span(back), 0, {}, events[2].out()));
  } catch (const DeviceLost&) {
    wait_for_each();
    throw;
  }
  wait_for_each();
  check(cl().wait({events[0], events[1], events[2]}));
  expect_same("a transfer", numbers, back.data());
}

void map_and_unmap(const Worker& worker, Random& random) {
  const Numbers numbers = random_numbers(random, between(random, 1, 1U << 16U));
  const kit::Buffer buffer = buffer_for(worker, numbers);
  auto* mapped = cl().map<cl_uint>(worker.queue, buffer, CL_MAP_WRITE_INVALIDATE_REGION, numbers.size());
  std::copy(numbers.begin(), numbers.end(), mapped);
  check(cl().unmap(worker.queue, buffer, mapped));
  mapped = cl().map<cl_uint>(worker.queue, buffer, CL_MAP_READ, numbers.size());
  expect_same("a map", numbers, mapped);
  check(cl().unmap(worker.queue, buffer, mapped));
}

// From a small choice of sources: drivers cache what they have built, and a soak test must not fill the disk.
void build_and_launch(const Worker& worker, Random& random) {
  const std::string extra = "kernel void other" + std::to_string(between(random, 0, 7)) + "() {}\n";
  const kit::Program program = cl().build(*worker.context, extra + kSource);
  add_with(worker, cl().kernel(program, "add"), random, 64);
}

void wait_for_user_event(const Worker& worker, Random& random) {
  const Numbers numbers = random_numbers(random, 1000);
  const kit::Buffer buffer = buffer_for(worker, numbers);
  check(cl().write(worker.queue, buffer, numbers));
  const kit::Event gate = cl().user_event(*worker.context);
  Numbers back(numbers.size());
  kit::Event event = cl().event();
  const cl_int read = cl().read(worker.queue, buffer, Blocking::no, std::span(back), 0, {gate}, event.out());
  const cl_int completed = cl().clSetUserEventStatus(gate, CL_COMPLETE);
  const cl_int waited = event ? cl().wait({event}) : CL_SUCCESS;
  for (const cl_int error : {read, completed, waited}) check(error);
  expect_same("a read behind a user event", numbers, back.data());
}

struct CallbackResult {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  cl_int status = CL_QUEUED;

  static void CL_CALLBACK on_complete(cl_event, cl_int status, void* data) {
    auto& self = *static_cast<CallbackResult*>(data);
    const std::scoped_lock lock(self.mutex);
    self.status = status;
    self.done = true;
    self.changed.notify_one();
  }
};

void wait_for_callback(const Worker& worker, Random& random) {
  constexpr std::size_t kCount = 1024;
  const kit::Buffer buffer = cl().buffer(*worker.context, kCount * sizeof(cl_uint));
  const auto pattern = static_cast<cl_uint>(random());
  kit::Event event = cl().event();
  check(cl().fill(worker.queue, buffer, pattern, kCount, 0, {}, event.out()));
  CallbackResult result;
  check(cl().clSetEventCallback(event, CL_COMPLETE, &CallbackResult::on_complete, &result));
  const auto begun = steady_clock::now();
  bool in_time = false;
  {
    std::unique_lock lock(result.mutex);
    in_time = result.changed.wait_for(lock, kHangTimeout, [&] { return result.done; });
  }
  note_duration("a callback", begun);
  if (!in_time) fail("a callback", "never called");
  if (result.status < 0) throw DeviceLost{"a callback", result.status};
  expect_same("a fill", Numbers(kCount, pattern), read(worker, buffer, kCount).data());
}

// Without the kit's checks: capabilities of a lost device are unknown, and that is no failure.
template <typename T>
T device_info(cl_device_id device, cl_device_info name) {
  T value{};
  cl().clGetDeviceInfo(device, name, sizeof value, &value, nullptr);
  return value;
}

void share_virtual_memory(const Worker& worker, Random& random) {
  const auto capabilities =
      device_info<cl_device_svm_capabilities>(worker.device, CL_DEVICE_SVM_CAPABILITIES);
  if ((capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return;
  const Numbers numbers = random_numbers(random, between(random, 1, 1U << 14U));
  void* const memory = cl().clSVMAlloc(*worker.context, CL_MEM_READ_WRITE, size_of(numbers), 0);
  if (memory == nullptr) throw DeviceLost{"clSVMAlloc", CL_DEVICE_NOT_AVAILABLE};
  const auto free = [&](void* pointer) { cl().clSVMFree(*worker.context, pointer); };
  const std::unique_ptr<void, decltype(free)> owned(memory, free);
  cl_command_queue const queue = worker.queue;
  check(
      cl().clEnqueueSVMMemcpy(queue, CL_TRUE, memory, numbers.data(), size_of(numbers), 0, nullptr, nullptr));
  check(cl().clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, memory, size_of(numbers), 0, nullptr, nullptr));
  expect_same("shared virtual memory", numbers, static_cast<const cl_uint*>(memory));
  check(cl().clEnqueueSVMUnmap(queue, memory, 0, nullptr, nullptr));
  check(cl().clFinish(queue));
}

void transfer_image(const Worker& worker, Random& random) {
  if (device_info<cl_bool>(worker.device, CL_DEVICE_IMAGE_SUPPORT) == CL_FALSE) return;
  const std::size_t side = between(random, 1, 200);
  const Numbers pixels = random_numbers(random, side * side);
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = shape.image_height = side;
  const kit::Image image = cl().image(*worker.context, {CL_RGBA, CL_UNSIGNED_INT8}, shape);
  const std::size_t origin[3] = {0, 0, 0};
  const std::size_t region[3] = {side, side, 1};
  check(cl().clEnqueueWriteImage(worker.queue, image, CL_TRUE, origin, region, 0, 0, pixels.data(), 0,
                                 nullptr, nullptr));
  Numbers back(pixels.size());
  check(cl().clEnqueueReadImage(worker.queue, image, CL_TRUE, origin, region, 0, 0, back.data(), 0, nullptr,
                                nullptr));
  expect_same("an image", pixels, back.data());
}

void use_new_context(const Worker& worker, Random& random) { add_and_check(Worker(worker.device), random); }

}  // namespace

const kit::Api& cl() {
  static const kit::Api api(timed_table(), report_failure);
  return api;
}

void check(cl_int error) { cl().check(last_call, error); }

void fail(const std::string& call, const std::string& problem) {
  std::fprintf(stderr, "wrong: %s: %s\n", call.c_str(), problem.c_str());
  std::fflush(stderr);
  _exit(kWrong);
}

SlowestCall slowest_call() {
  const std::scoped_lock lock(slowest_call_mutex);
  return slowest_call_so_far;
}

cl_device_id first_device() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
    return nullptr;
  return device;
}

Worker::Worker(cl_device_id the_device)
    : device(the_device),
      context(std::make_shared<kit::Context>(cl().context(device))),
      queue(cl().queue(*context, device, CL_QUEUE_PROFILING_ENABLE)),
      program(cl().build(*context, kSource)),
      add(cl().kernel(program, "add")) {}

Worker::Worker(cl_device_id the_device, const Worker& other)
    : device(the_device),
      context(other.context),
      queue(cl().queue(*context, device, CL_QUEUE_PROFILING_ENABLE)),
      program(cl().build(*context, kSource)),
      add(cl().kernel(program, "add")) {}

void add_and_check(const Worker& worker, Random& random) {
  add_with(worker, worker.add, random, between(random, 1, 5000));
}

void random_step(const Worker& worker, Random& random) {
  using Step = void (*)(const Worker&, Random&);
  constexpr std::array<Step, 9> kSteps{
      &add_and_check,       &transfer,          &map_and_unmap,        &build_and_launch,
      &wait_for_user_event, &wait_for_callback, &share_virtual_memory, &transfer_image,
      &use_new_context};
  kSteps[between(random, 0, kSteps.size() - 1)](worker, random);
}

void expect_all_lost(const Worker& worker) {
  const auto expect = [](cl_int error) {
    if (error != CL_DEVICE_NOT_AVAILABLE)
      fail(last_call, "error " + std::to_string(error) + " with a lost device");
  };
  const auto expect_none_created = [&](auto create) {
    cl_int error = CL_SUCCESS;
    create(&error);
    expect(error);
  };
  expect(cl().clFinish(worker.queue));
  expect(cl().clFlush(worker.queue));
  expect_none_created([&](cl_int* error) { cl().clCreateBuffer(*worker.context, 0, 4, nullptr, error); });
  expect_none_created([&](cl_int* error) { cl().clCreateUserEvent(*worker.context, error); });
  expect_none_created(
      [&](cl_int* error) { cl().clCreateCommandQueue(*worker.context, worker.device, 0, error); });
  expect(cl().build(worker.program));
  expect(cl().launch(worker.queue, worker.add, {1}));
  expect(cl().marker(worker.queue));
}

}  // namespace work
