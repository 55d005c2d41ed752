// Helpers of the programs.
#include "client_program.h"

#include <algorithm>
#include <array>

namespace cleave::fuzz::answers {
namespace {

volatile std::size_t last_error;

void CL_CALLBACK note_error(const char* text, const void* data, size_t size, void*) {
  last_error = std::strlen(text) + (size == 0 ? 0 : static_cast<const unsigned char*>(data)[size - 1]);
}

}  // namespace

bool Block::is_all(std::uint8_t value) const {
  return std::all_of(data(), data() + size_, [&](std::byte one) { return one == std::byte{value}; });
}

cl_int Program::ok(cl_int error) const {
  require(error <= CL_SUCCESS, "what a call returns is a code of OpenCL's");
  require(!good_ || error == CL_SUCCESS, "with a server of good faith every call succeeds");
  return error;
}

void Program::run(unsigned number) {
  constexpr std::array kPrograms{
      &Program::transfers, &Program::boxes_and_maps,        &Program::programs,   &Program::launches,
      &Program::images,    &Program::shared_virtual_memory, &Program::large_data, &Program::several_servers};
  static_assert(kPrograms.size() == kCount);
  begin(kPrograms[number] == &Program::several_servers);
  if (!devices_.empty()) (this->*kPrograms[number])();
  release_all();
}

void Program::begin(bool all_devices) {
  cl_uint count = 0;
  if (cl.clGetPlatformIDs(1, &platform_, &count) != CL_SUCCESS) {
    require(!good_, "a good server has a platform");
    return;
  }
  for (const cl_platform_info name : {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR, CL_PLATFORM_VERSION,
                                      CL_PLATFORM_PROFILE, CL_PLATFORM_EXTENSIONS}) {
    text(platform_, name);
  }
  for (const cl_platform_info name : {CL_PLATFORM_NUMERIC_VERSION, CL_PLATFORM_EXTENSIONS_WITH_VERSION,
                                      CL_PLATFORM_HOST_TIMER_RESOLUTION}) {
    told(platform_, name);
  }
  if (ok(cl.clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, 0, nullptr, &count)) != CL_SUCCESS) return;
  devices_.resize(std::min(count, 4U));
  ok(cl.clGetDeviceIDs(platform_, CL_DEVICE_TYPE_ALL, static_cast<cl_uint>(devices_.size()), devices_.data(),
                       nullptr));
  cl_int error = CL_SUCCESS;
  const cl_context context =
      cl.clCreateContext(nullptr, all_devices ? static_cast<cl_uint>(devices_.size()) : 1, devices_.data(),
                         note_error, this, &error);
  context_ = made(context, error);
  if (context == nullptr) return;
  Call* const call = expect_callback();
  const cl_int set = cl.clSetContextDestructorCallback(
      context, [](cl_context, void* data) { ++static_cast<Call*>(data)->times; }, call);
  call->is_expected = ok(set) == CL_SUCCESS;
}

void Program::release_all() {
  while (!kept_.empty()) kept_.pop_back();
}

void Program::check_callbacks() const {
  for (const Call& call : calls_) {
    require(call.times.load() == (call.is_expected.load() ? 1 : 0), "what is to be called is, once");
  }
}

// Registers a callback for the status, which is due even if the connection ends.
void Program::watch(cl_event event, cl_int status) {
  Call* const call = expect_callback();
  const auto note = [](cl_event, cl_int, void* data) { ++static_cast<Call*>(data)->times; };
  call->is_expected = ok(cl.clSetEventCallback(event, status, note, call)) == CL_SUCCESS;
}

void Program::watch_end(cl_mem memory) {
  Call* const call = expect_callback();
  const auto note = [](cl_mem, void* data) { ++static_cast<Call*>(data)->times; };
  call->is_expected = ok(cl.clSetMemObjectDestructorCallback(memory, note, call)) == CL_SUCCESS;
}

// The status of a finished event does not change.
cl_int Program::wait(cl_event event) const {
  const cl_int error = ok(cl.wait({event}));
  if (event == nullptr) return error;
  const auto status = [&] {
    cl_int now = CL_QUEUED;
    ok(cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, nullptr));
    return now;
  };
  const cl_int now = status();
  require(now <= CL_COMPLETE && (now < 0) == (error != CL_SUCCESS), "what was waited for has ended");
  require(status() == now, "and so it stays");
  return error;
}

cl_mem Program::buffer(cl_mem_flags flags, std::size_t size, void* host) {
  return made(cl.buffer(context_, size, flags, host));
}

cl_command_queue Program::queue(cl_device_id device, cl_command_queue_properties properties) {
  return made(cl.queue(context_, device, properties));
}

// Frees the memory as soon as the event allows it.
void Program::read_later(cl_command_queue queue, cl_mem memory, std::size_t size) {
  cl_event read = nullptr;
  const Block block(size);
  if (ok(cl.read(queue, memory, Blocking::no, block.span(), 0, {}, &read)) != CL_SUCCESS) return;
  watch(keep(read), CL_COMPLETE);
  // Whether it is in shared memory depends on the server.
  constexpr std::size_t kOverTheSocket = 32'768;
  const bool sure = good_ || size < kOverTheSocket;
  if (wait(read) == CL_SUCCESS && sure) require(block.is_all(kData), "what has been read is there");
}

void Program::read_and_finish(cl_command_queue queue, cl_mem memory, std::size_t size) {
  const Block block(size);
  const cl_int error = cl.read(queue, memory, Blocking::no, block.span());
  const cl_int finished = ok(cl.clFinish(queue));
  if (ok(error) == CL_SUCCESS && finished == CL_SUCCESS)
    require(block.is_all(kData), "what was read is there");
}

void Program::read_now(cl_command_queue queue, cl_mem memory, std::size_t size) {
  const Block block(size);
  if (ok(cl.read(queue, memory, Blocking::yes, block.span())) == CL_SUCCESS)
    require(block.is_all(kData), "what was waited for is there");
}

void Program::ask_about_event(cl_event event, bool profiles) {
  if (event == nullptr) return;
  value<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE);
  value<cl_context>(event, CL_EVENT_CONTEXT);
  value<cl_command_type>(event, CL_EVENT_COMMAND_TYPE);
  if (!profiles) return;
  for (const cl_profiling_info name : {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_END}) {
    value<cl_ulong>([&](auto... into) { return cl.clGetEventProfilingInfo(event, name, into...); });
  }
}

}  // namespace cleave::fuzz::answers
