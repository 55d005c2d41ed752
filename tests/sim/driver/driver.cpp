#include "tests/sim/driver/driver.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/sim/driver/core/driver_state.h"

namespace cleave::sim {
namespace {

// A misspelt name would make a test pass for nothing.
Function require_function(std::string_view name) {
  const auto function = function_named(name);
  if (!function) {
    std::fprintf(stderr, "sim: the driver has no function %.*s\n", static_cast<int>(name.size()),
                 name.data());
    std::abort();
  }
  return *function;
}

}  // namespace

Driver::Driver() : Driver(Options{}) {}
Driver::Driver(Options options) : state_(std::make_unique<DriverState>(std::move(options))) {}
Driver::~Driver() = default;

const Options& Driver::options() const { return state_->options; }
cl_platform_id Driver::platform() const { return handle_of(state_->platform); }
cl_device_id Driver::device(std::size_t index) const { return handle_of(state_->devices.at(index)); }
base::Clock& Driver::clock() { return *state_; }

void Driver::run_until_idle() {
  DriverState::Lock lock(state_->mutex);
  state_->run_until_idle(lock);
}

void Driver::kernel(std::string_view name, Body body) {
  const std::lock_guard lock(state_->mutex);
  state_->bodies.insert_or_assign(std::string(name), std::move(body));
}

void Driver::cost(std::string_view name, Cost cost) {
  const std::lock_guard lock(state_->mutex);
  state_->costs.insert_or_assign(std::string(name), std::move(cost));
}

void Driver::extension(std::string_view name, void* function) {
  const std::lock_guard lock(state_->mutex);
  state_->extensions.insert_or_assign(std::string(name), function);
}

void Driver::fail(std::string_view function, unsigned nth, cl_int code) {
  const std::lock_guard lock(state_->mutex);
  state_->faults.add_call(require_function(function), nth, code);
}

void Driver::fail_execution(std::string_view kernel, unsigned nth, cl_int status) {
  const std::lock_guard lock(state_->mutex);
  state_->faults.add_execution(kernel, nth, status);
}

std::size_t Driver::faults_left() const {
  const std::lock_guard lock(state_->mutex);
  return state_->faults.left();
}

std::vector<Call> Driver::log() const {
  const std::lock_guard lock(state_->mutex);
  return state_->record.log();
}

std::vector<Launch> Driver::launches() const {
  const std::lock_guard lock(state_->mutex);
  return state_->record.launches();
}

std::vector<Launch> Driver::executions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->record.executions();
}

std::size_t Driver::count(std::string_view function) const {
  const std::lock_guard lock(state_->mutex);
  return state_->record.counted(require_function(function));
}

void Driver::forget() {
  const std::lock_guard lock(state_->mutex);
  state_->record.forget();
}

void Driver::on_call(std::function<void(const Call&)> observer) {
  const std::lock_guard lock(state_->mutex);
  state_->record.observer = std::move(observer);
}

std::size_t Driver::live(Kind kind) const {
  const std::lock_guard lock(state_->mutex);
  return state_->live(kind);
}

std::size_t Driver::live_total() const {
  const std::lock_guard lock(state_->mutex);
  std::size_t total = 0;
  for (std::size_t kind = 0; kind < kind_count; ++kind) total += state_->live(static_cast<Kind>(kind));
  return total;
}

std::vector<std::string> Driver::live_objects() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live_objects();
}

std::vector<std::string> Driver::uses_of_released() const {
  const std::lock_guard lock(state_->mutex);
  return state_->uses_of_released;
}

std::uint64_t Driver::id(const void* handle) const {
  const std::lock_guard lock(state_->mutex);
  const Object* object = state_->find(handle);
  return object == nullptr ? 0 : object->id;
}

bool Driver::hung() const { return state_->hung; }

}  // namespace cleave::sim
