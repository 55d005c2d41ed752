#include "cli/probe/probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/resource.h>

#include "base/files/search_list.h"
#include "cleave/cleave.h"
#include "cli/probe/opencl_library.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

// OpenCL's texts end with a NUL, some drivers' with several.
std::string without_nul(std::string text) {
  text.resize(::strnlen(text.data(), text.size()));
  return text;
}

clGetCleaveInfo_fn cleave_info_function(const OpenClLibrary& library) {
  auto* address_of = CLEAVE_CLI_FIND(library, clGetExtensionFunctionAddress);
  return reinterpret_cast<clGetCleaveInfo_fn>(address_of(CL_CLEAVE_GET_INFO_NAME));
}

clGetCleaveInfo_fn required_cleave_info_function(const OpenClLibrary& library) {
  const clGetCleaveInfo_fn info = cleave_info_function(library);
  if (info == nullptr) throw ProbeError("it does not know " CL_CLEAVE_GET_INFO_NAME);
  return info;
}

std::string text_of(clGetCleaveInfo_fn info, cl_cleave_info name) {
  constexpr std::size_t room = 1024;  // the text may have grown since its size was queried
  std::size_t size = 0;
  require(info(nullptr, name, 0, nullptr, &size), "clGetCleaveInfo");
  size += room;
  std::string text(size, '\0');
  require(info(nullptr, name, size, text.data(), nullptr), "clGetCleaveInfo");
  return without_nul(std::move(text));
}

void write_settings(const RecordWriter& writer, clGetCleaveInfo_fn info) {
  for (const std::string& line : base::split(text_of(info, CL_CLEAVE_SETTINGS), "\n")) {
    Record record = {"setting"};
    for (const std::string& field : base::split(line, "\t")) record.push_back(field);
    if (record.size() > 1) writer.write(record);
  }
  for (const std::string& line : base::split(text_of(info, CL_CLEAVE_PROBLEMS), "\n")) {
    if (!line.empty()) writer.write({"problem", line});
  }
}

std::vector<Record> neighbours(clGetCleaveInfo_fn info) {
  std::vector<Record> records;
  for (const std::string& line : base::split(text_of(info, CL_CLEAVE_NEIGHBOURS), "\n")) {
    Record record = {"neighbour"};
    for (std::string_view rest = line; !line.empty();) {  // empty fields are kept
      const std::size_t tab = rest.find('\t');
      record.emplace_back(rest.substr(0, tab));
      if (tab == std::string_view::npos) break;
      rest.remove_prefix(tab + 1);
    }
    if (record.size() > 6) records.push_back(record);
  }
  cl_uint vms = 0;
  require(info(nullptr, CL_CLEAVE_VMS, sizeof vms, &vms, nullptr), "clGetCleaveInfo");
  records.push_back({"vms", std::to_string(vms)});
  return records;
}

// The state once all sources have had time to answer.
std::vector<Record> first_neighbours(clGetCleaveInfo_fn info) {
  constexpr int attempts = 40;  // at 50 ms
  const auto is_waiting = [](const Record& record) { return record.size() > 3 && record[3] == "connecting"; };
  for (int i = 0;; ++i) {
    std::vector<Record> records = neighbours(info);
    if (i == attempts || std::none_of(records.begin(), records.end(), is_waiting)) return records;
    ::usleep(50'000);
  }
}

// A text from one of OpenCL's clGet...Info functions; empty if the driver fails.
template <typename Object, typename Info>
std::string text_of(Object object, Info* info, cl_uint name) {
  std::size_t size = 0;
  if (info(object, name, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (info(object, name, size, text.data(), nullptr) != CL_SUCCESS) return "";
  return without_nul(std::move(text));
}

const char* type_name(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "GPU";
  if ((type & CL_DEVICE_TYPE_CPU) != 0) return "CPU";
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) return "accelerator";
  return "device";
}

std::string cores_of(clGetCleaveInfo_fn info, cl_device_id device) {
  cl_ulong cores = 0;
  if (info == nullptr) return "";
  if (info(device, CL_CLEAVE_DEVICE_CORES, sizeof cores, &cores, nullptr) != CL_SUCCESS) return "";
  return std::to_string(cores);
}

// The name of the file of turns on the device, and the device's kind for turns; empty if Cleave does not report it.
std::array<std::string, 2> turns_of(clGetCleaveInfo_fn info, cl_device_id device) {
  std::array<char, 256> text{};
  if (info == nullptr ||
      info(device, CL_CLEAVE_DEVICE_TURNS, text.size() - 1, text.data(), nullptr) != CL_SUCCESS)
    return {};
  const std::string_view both = text.data();
  const std::size_t tab = both.find('\t');
  if (tab == std::string_view::npos) return {};
  return {std::string(both.substr(0, tab)), std::string(both.substr(tab + 1))};
}

}  // namespace

OpenClLibrary::OpenClLibrary(const std::string& path)
    : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw ProbeError(::dlerror());
}

void* OpenClLibrary::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) throw ProbeError(std::string("no function ") + name);
  return address;
}

void require(cl_int error, const char* function) {
  if (error != CL_SUCCESS) throw ProbeError(std::string(function) + " returned " + std::to_string(error));
}

std::vector<cl_platform_id> platforms_of(const OpenClLibrary& library) {
  auto* get = CLEAVE_CLI_FIND(library, clGetPlatformIDs);
  constexpr cl_int no_platform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  cl_uint count = 0;
  const cl_int error = get(0, nullptr, &count);
  if (error == no_platform || (error == CL_SUCCESS && count == 0)) return {};
  require(error, "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  require(get(count, platforms.data(), nullptr), "clGetPlatformIDs");
  return platforms;
}

std::vector<cl_device_id> devices_of(const OpenClLibrary& library, cl_platform_id platform) {
  auto* get = CLEAVE_CLI_FIND(library, clGetDeviceIDs);
  cl_uint count = 0;
  const cl_int error = get(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (error == CL_DEVICE_NOT_FOUND || (error == CL_SUCCESS && count == 0)) return {};
  require(error, "clGetDeviceIDs");
  std::vector<cl_device_id> devices(count);
  require(get(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr), "clGetDeviceIDs");
  return devices;
}

RecordWriter::RecordWriter() : descriptor_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

void RecordWriter::write(const Record& record) const {
  const std::string line = encode(record);
  // The reader has closed the pipe.
  if (::write(descriptor_, line.data(), line.size()) < 0) ::_exit(1);
}

int probe_library() {
  run_probe_and_exit([](const RecordWriter& writer) {
    const OpenClLibrary library(find_installation().drop_in);
    const clGetCleaveInfo_fn info = required_cleave_info_function(library);
    writer.write({"version", text_of(info, CL_CLEAVE_VERSION)});
    writer.write({"face", text_of(info, CL_CLEAVE_FACE)});
    writer.write({"next", text_of(info, CL_CLEAVE_NEXT)});
    write_settings(writer, info);
    for (const Record& record : first_neighbours(info)) writer.write(record);
  });
}

int probe_neighbours() {
  run_probe_and_exit([](const RecordWriter& writer) {
    const OpenClLibrary library(find_installation().drop_in);
    const clGetCleaveInfo_fn info = required_cleave_info_function(library);
    write_settings(writer, info);
    for (std::vector<Record> records = first_neighbours(info);; records = neighbours(info)) {
      for (const Record& record : records) writer.write(record);
      ::sleep(1);
    }
  });
}

int probe_loader(const std::string& loader) {
  run_probe_and_exit([&](const RecordWriter& writer) {
    const OpenClLibrary library(loader);
    // Loaders read OPENCL_LAYERS when platforms are first queried.
    writer.write({"platforms", std::to_string(platforms_of(library).size())});
    const clGetCleaveInfo_fn info = cleave_info_function(library);
    writer.write({"face", info != nullptr ? text_of(info, CL_CLEAVE_FACE) : "none"});
  });
}

int probe_devices() {
  run_probe_and_exit([](const RecordWriter& writer) {
    const OpenClLibrary library(find_installation().drop_in);
    const clGetCleaveInfo_fn info = cleave_info_function(library);
    auto* platform_info = CLEAVE_CLI_FIND(library, clGetPlatformInfo);
    auto* device_info = CLEAVE_CLI_FIND(library, clGetDeviceInfo);
    const auto platforms = platforms_of(library);
    for (std::size_t p = 0; p < platforms.size(); ++p) {
      writer.write({"platform", std::to_string(p), text_of(platforms[p], platform_info, CL_PLATFORM_NAME),
                    text_of(platforms[p], platform_info, CL_PLATFORM_VERSION)});
      const auto devices = devices_of(library, platforms[p]);
      for (std::size_t d = 0; d < devices.size(); ++d) {
        cl_device_type type = 0;
        device_info(devices[d], CL_DEVICE_TYPE, sizeof type, &type, nullptr);
        const std::array<std::string, 2> turns = turns_of(info, devices[d]);
        writer.write({"device", std::to_string(p), std::to_string(d),
                      text_of(devices[d], device_info, CL_DEVICE_NAME), type_name(type),
                      text_of(devices[d], device_info, CL_DEVICE_VERSION),
                      text_of(devices[d], device_info, CL_DRIVER_VERSION), cores_of(info, devices[d]),
                      turns[0], turns[1]});
      }
    }
  });
}

}  // namespace cleave::cli
