#include "remote/server/worker/trial_process.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "remote/server/builds/build_trials.h"
#include "remote/server/messages.h"
#include "remote/server/options/options.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/session/platforms.h"
#include "remote/server/worker/opencl_loader.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

// A context on a GPU takes much of its memory: it is not kept when there is nothing to build.
constexpr int kIdleTime = 1000;  // ms

void set_soft_limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  ::getrlimit(resource, &now);
  now.rlim_cur = std::min(most, now.rlim_max);
  ::setrlimit(resource, &now);
}

// One number of a file of the system's; 0: there is none.
std::uint64_t read_number(const char* path, const char* format) {
  unsigned long long number = 0;
  std::FILE* const file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, format, &number) != 1) number = 0;
  std::fclose(file);
  return number;
}

// What RLIMIT_DATA counts.
rlim_t data_of_this_process() {
  return read_number("/proc/self/statm", "%*u %*u %*u %*u %*u %llu") *
         static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t written_bytes() { return read_number("/proc/self/io", "rchar: %*u wchar: %llu"); }

rusage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used;
}

// For the next build: limits count from what has been used.
void limit_build(const BuildLimits& limits) {
  const rusage used = usage();
  set_soft_limit(RLIMIT_CPU,
                 static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + limits.seconds + 1);
  set_soft_limit(RLIMIT_DATA, data_of_this_process() + limits.memory);
  set_soft_limit(RLIMIT_FSIZE, limits.output);
}

// LLVM handles both signals, and goes on. One for a file waits, blocked, until the build has failed.
void prepare_signals() {
  sigset_t of_files;
  ::sigemptyset(&of_files);
  ::sigaddset(&of_files, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &of_files, nullptr);
  ::signal(SIGXCPU, SIG_DFL);
}

bool has_written_too_much() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
}

// What the worker has written. Null: it is damaged.
const ipc::TrialRequest* request_in(const std::string& text) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 8;
  flatbuffers::Verifier verifier(bytes, text.size(), kMaxDepth, UINT32_MAX);
  return verifier.VerifyBuffer<ipc::TrialRequest>(nullptr) ? flatbuffers::GetRoot<ipc::TrialRequest>(bytes)
                                                           : nullptr;
}

// The contents of a file in memory.
std::optional<std::string> read_all(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t got = ::pread(file, text.data() + at, text.size() - at, static_cast<off_t>(at));
    if (got <= 0) return std::nullopt;
    at += static_cast<std::size_t>(got);
  }
  return text;
}

class TrialProcess {
 public:
  explicit TrialProcess(const Options& options) : options_(options) {}

  int run();

 private:
  using Programs = std::vector<cl_program>;

  bool prepare();
  TrialAnswer attempt(const ipc::TrialRequest& request);
  bool find_devices(const ipc::TrialRequest& request);
  cl_program make(const ipc::TrialProgram& program);
  cl_int build(const ipc::TrialRequest& request, const Programs& programs);

  const Options& options_;
  base::FileDescriptor control_;
  const Table* cl_ = nullptr;
  std::vector<OfferedPlatform> platforms_;
  std::vector<DevicePlace> places_;
  std::vector<cl_device_id> devices_;
  cl_context context_ = nullptr;  // of these devices
};

// The build that follows prints the same once more: this output is discarded.
bool TrialProcess::prepare() {
  control_ = base::FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  for (const char* const written : {"CLEAVE_STATS", "CLEAVE_TRACE"}) ::unsetenv(written);
  std::string problem;
  cl_ = load_opencl(options_.opencl, problem);
  if (cl_ == nullptr) return false;
  cl_ = &split_launches(*cl_, options_.opencl, {}, {});  // builds are what the worker's are
  platforms_ = find_platforms(*cl_, options_.devices);
  return true;
}

bool TrialProcess::find_devices(const ipc::TrialRequest& request) {
  std::vector<DevicePlace> places;
  for (const ipc::TrialDevice* const each : *request.devices())
    places.push_back({each->platform(), each->device()});
  if (context_ != nullptr && places == places_) return true;
  if (context_ != nullptr) cl_->clReleaseContext(std::exchange(context_, nullptr));
  devices_.clear();
  places_ = std::move(places);
  for (const DevicePlace& place : places_) {
    if (place.platform >= platforms_.size()) return false;
    const auto& offered = platforms_[place.platform].devices;
    if (place.device >= offered.size()) return false;
    devices_.push_back(offered[place.device].handle);
  }
  if (devices_.empty()) return false;
  const std::array<cl_context_properties, 3> properties{
      CL_CONTEXT_PLATFORM,
      reinterpret_cast<cl_context_properties>(platforms_[places_.front().platform].handle), 0};
  cl_int error = CL_SUCCESS;
  context_ = cl_->clCreateContext(properties.data(), static_cast<cl_uint>(devices_.size()), devices_.data(),
                                  nullptr, nullptr, &error);
  return context_ != nullptr;
}

// Null: the driver does not take it.
cl_program TrialProcess::make(const ipc::TrialProgram& program) {
  cl_int error = CL_SUCCESS;
  const std::size_t expected = program.origin() == ipc::ProgramOrigin::binaries ? devices_.size() : 1;
  if (program.texts()->size() != expected) return nullptr;
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const flatbuffers::String* const text : *program.texts()) {
    texts.push_back(text->c_str());
    sizes.push_back(text->size());
  }
  cl_program made = nullptr;
  switch (program.origin()) {
    case ipc::ProgramOrigin::source:
      made = cl_->clCreateProgramWithSource(context_, 1, texts.data(), sizes.data(), &error);
      break;
    case ipc::ProgramOrigin::il:
      made = cl_->clCreateProgramWithIL(context_, texts[0], sizes[0], &error);
      break;
    case ipc::ProgramOrigin::binaries:
      made = cl_->clCreateProgramWithBinary(
          context_, static_cast<cl_uint>(devices_.size()), devices_.data(), sizes.data(),
          reinterpret_cast<const unsigned char**>(texts.data()), nullptr, &error);
      break;
  }
  for (const ipc::SpecializationConstant* const each : *program.constants()) {
    if (made == nullptr) break;
    cl_->clSetProgramSpecializationConstant(made, each->id(), each->value()->size(), each->value()->data());
  }
  return made;
}

cl_int TrialProcess::build(const ipc::TrialRequest& request, const Programs& programs) {
  const auto count = static_cast<cl_uint>(devices_.size());
  const char* const options = request.options() != nullptr ? request.options()->c_str() : nullptr;
  cl_int error = CL_SUCCESS;
  switch (request.work()) {
    case ipc::TrialWork::build:
      return cl_->clBuildProgram(programs[0], count, devices_.data(), options, nullptr, nullptr);
    case ipc::TrialWork::compile: {
      std::vector<const char*> names;
      for (const flatbuffers::String* const name : *request.names()) names.push_back(name->c_str());
      const auto headers = static_cast<cl_uint>(programs.size() - 1);
      return cl_->clCompileProgram(programs[0], count, devices_.data(), options, headers,
                                   headers != 0 ? programs.data() + 1 : nullptr,
                                   headers != 0 ? names.data() : nullptr, nullptr, nullptr);
    }
    case ipc::TrialWork::link:
      break;
  }
  const cl_program linked =
      cl_->clLinkProgram(context_, count, devices_.data(), options, static_cast<cl_uint>(programs.size()),
                         programs.data(), nullptr, nullptr, &error);
  if (linked != nullptr) cl_->clReleaseProgram(linked);
  return error;
}

TrialAnswer TrialProcess::attempt(const ipc::TrialRequest& request) {
  const std::size_t count = request.programs()->size();
  const bool has_names = request.work() != ipc::TrialWork::compile || request.names()->size() + 1 == count;
  if (count == 0 || !has_names || !find_devices(request)) return TrialAnswer::impossible;
  const base::FileDescriptor before(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string folder = request.folder()->str();
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) return TrialAnswer::impossible;
  limit_build(options_.limits.build);
  prepare_signals();
  const std::uint64_t written_before = written_bytes();
  Programs programs;
  cl_int error = CL_SUCCESS;
  for (const ipc::TrialProgram* const each : *request.programs()) {
    const cl_program made = make(*each);
    if (made != nullptr) programs.push_back(made);
  }
  const bool is_possible = programs.size() == count;
  if (is_possible) error = build(request, programs);
  for (const cl_program each : programs) cl_->clReleaseProgram(each);
  if (!folder.empty()) static_cast<void>(!::fchdir(before.get()));
  // A driver that can write only a part of a file may fail at once, without a signal.
  const bool is_cut = error != CL_SUCCESS && written_bytes() - written_before >= options_.limits.build.output;
  if (is_cut || has_written_too_much()) return TrialAnswer::output;
  if (!is_possible) return TrialAnswer::impossible;
  return error == CL_OUT_OF_HOST_MEMORY ? TrialAnswer::memory : TrialAnswer::ended;
}

int TrialProcess::run() {
  const bool has_driver = prepare();
  while (true) {
    pollfd waited{control_.get(), POLLIN, 0};
    if (::poll(&waited, 1, kIdleTime) <= 0) return EXIT_SUCCESS;
    std::byte byte{};
    int descriptor = -1;
    const long got = receive_with_descriptor(control_.get(), std::span(&byte, 1), descriptor, 0);
    const base::FileDescriptor file(descriptor);
    if (got <= 0) return EXIT_SUCCESS;
    const auto text = read_all(file.get());
    const ipc::TrialRequest* const request = has_driver && text ? request_in(*text) : nullptr;
    const TrialAnswer answer = request != nullptr ? attempt(*request) : TrialAnswer::impossible;
    if (::send(control_.get(), &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return EXIT_SUCCESS;
  }
}

}  // namespace

int run_trial_process() {
  const Options options = receive_options(kTrialArgument);
  TrialProcess process(options);
  const int status = process.run();
  std::_Exit(status);  // without what drivers do at their exit
}

}  // namespace cleave::remote::server
