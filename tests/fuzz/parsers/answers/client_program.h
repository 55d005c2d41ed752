// The programs that run on a client of an untrusted server, one for each topic of OpenCL. They make no mistakes, so with a
// correct server every call succeeds; with any other every call returns an OpenCL error code, and nothing is written outside
// the program's buffers.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../harness.h"
#include "base/opencl.h"
#include "mock_server.h"
#include "tests/kit/opencl.h"

namespace cleave::fuzz::answers {

using kit::Blocking;

// Memory of exactly that size, so that a sanitizer detects accesses beyond it. kUntouched at first.
class Block {
 public:
  static constexpr std::byte kUntouched{0xee};

  explicit Block(std::size_t size) : size_(size), bytes_(new std::byte[size]) {
    if (size != 0) std::memset(bytes_.get(), std::to_integer<int>(kUntouched), size);
  }
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data(), size()}; }
  [[nodiscard]] bool is_all(std::uint8_t value) const;

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> bytes_;
};

class Program {
 public:
  // `good`: every call has to succeed.
  Program(const Table& table, bool good)
      : cl(table, [](const char*, cl_int error, const kit::Where&) { last_error_ = error; }), good_(good) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // One of kCount; releases its objects.
  static constexpr unsigned kCount = 8;
  void run(unsigned number);

  // When nothing is pending: every callback that is due has been called, once each.
  void check_callbacks() const;

 private:
  struct Call {
    std::atomic<unsigned> times{0};
    std::atomic<bool> is_expected{false};
  };

  // Checks a call's status.
  cl_int ok(cl_int error) const;
  // Keeps an object until the end.
  template <typename Handle>
  Handle keep(Handle object) {
    if (object != nullptr) kept_.push_back(std::make_shared<kit::Handle<Handle>>(cl.own(object)));
    return object;
  }
  // Keeps what a call has made; with one of the Api's verbs, the error is the one that it has reported.
  template <typename Handle>
  Handle made(Handle object, cl_int error) {
    ok(error);
    require((object != nullptr) == (error == CL_SUCCESS), "who fails makes nothing, and who does not does");
    return keep(object);
  }
  template <typename Handle>
  Handle made(kit::Handle<Handle> object) {
    return made(object.detach(), std::exchange(last_error_, CL_SUCCESS));
  }
  // The answer of ask(size, value, size_ret), whose size is queried first.
  template <typename Ask>
  Block told(Ask ask) const {
    constexpr std::size_t kMax = std::size_t{8} << 20U;
    std::size_t size = 0;
    if (ok(ask(0, nullptr, &size)) != CL_SUCCESS) return Block(0);
    require(size <= kMax, "no answer is larger than a message");
    Block block(size);
    ok(ask(size, block.data(), nullptr));
    return block;
  }
  template <typename Ask>
  void text(Ask ask) const {
    const Block block = told(ask);
    const auto* const begin = reinterpret_cast<const char*>(block.data());
    require(block.size() == 0 || begin[0] == '\xee' || std::memchr(begin, 0, block.size()) != nullptr,
            "a text ends");
  }
  template <typename Handle>
  Block told(Handle object, cl_uint name) const {
    return told([&](auto... into) { return cl.query(object, name, into...); });
  }
  template <typename Handle>
  void text(Handle object, cl_uint name) const {
    text([&](auto... into) { return cl.query(object, name, into...); });
  }
  // Of a known size.
  template <typename T, typename Ask>
  T value(Ask ask) const {
    const Block block(sizeof(T));
    T given{};
    if (ok(ask(sizeof(T), block.data(), nullptr)) == CL_SUCCESS)
      std::memcpy(&given, block.data(), sizeof given);
    return given;
  }

  template <typename T, typename Handle>
  T value(Handle object, cl_uint name) const {
    return value<T>([&](auto... into) { return cl.query(object, name, into...); });
  }

  Call* expect_callback() { return &calls_.emplace_back(); }
  void watch(cl_event event, cl_int status);
  void watch_end(cl_mem memory);
  cl_int wait(cl_event event) const;
  void release_all();
  void begin(bool all_devices);

  cl_mem buffer(cl_mem_flags flags, std::size_t size, void* host = nullptr);
  cl_command_queue queue(cl_device_id device,
                         cl_command_queue_properties properties = CL_QUEUE_PROFILING_ENABLE);
  cl_kernel kernel(bool with_callback);
  void set_arguments(cl_kernel add, cl_mem memory) const;
  void read_later(cl_command_queue queue, cl_mem memory, std::size_t size);
  void read_and_finish(cl_command_queue queue, cl_mem memory, std::size_t size);
  void read_now(cl_command_queue queue, cl_mem memory, std::size_t size);

  void transfers();
  void boxes_and_maps();
  void programs();
  void launches();
  void images();
  void shared_virtual_memory();
  void large_data();
  void several_servers();

  void ask_devices();
  void devices_of_a_type();
  void ask_about_event(cl_event event, bool profiles);
  void reconnect();

  const kit::Api cl;  // NOLINT(readability-identifier-naming): so that calls read like OpenCL's
  const bool good_;
  cl_platform_id platform_ = nullptr;
  std::vector<cl_device_id> devices_;
  cl_context context_ = nullptr;
  std::vector<std::shared_ptr<void>> kept_;       // released newest first
  inline static cl_int last_error_ = CL_SUCCESS;  // that a checked verb has reported
  std::deque<Call> calls_;
  std::deque<Block> hosts_;  // memory that objects use until they are released
};

}  // namespace cleave::fuzz::answers
