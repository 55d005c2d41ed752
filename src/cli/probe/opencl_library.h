// Shared by the probes: an OpenCL library opened by its path, and the output of records.
#pragma once

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/probe/records.h"

namespace cleave::cli {

// Why a probe failed; becomes its `failure` record.
class ProbeError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class OpenClLibrary {
 public:
  // Throws ProbeError with the dynamic loader's message. The library is never closed: drivers may leave threads running.
  explicit OpenClLibrary(const std::string& path);

  // The function of this name, with its type in OpenCL's headers. Throws ProbeError if there is none.
  template <typename Function>
  Function* find(Function* /*type*/, const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_;
};

// Calls library.find() for an OpenCL function.
#define CLEAVE_CLI_FIND(library, name) (library).find(static_cast<decltype(&(name))>(nullptr), #name)

// Throws ProbeError if `error` is not CL_SUCCESS.
void require(cl_int error, const char* function);

std::vector<cl_platform_id> platforms_of(const OpenClLibrary& library);
std::vector<cl_device_id> devices_of(const OpenClLibrary& library, cl_platform_id platform);

// Takes standard output over for records; all other output goes to standard error from here on. Disables core files.
class RecordWriter {
 public:
  RecordWriter();
  void write(const Record& record) const;

 private:
  int descriptor_;
};

// Runs `probe(writer)` and ends the process without exit handlers: a driver's could hang, and Cleave's own would write the
// user's statistics.
template <typename Probe>
[[noreturn]] void run_probe_and_exit(Probe probe) {
  const RecordWriter writer;
  int status = 0;
  try {
    probe(writer);
  } catch (const std::exception& failure) {
    writer.write({"failure", failure.what()});
    status = 1;
  }
  ::_exit(status);
}

}  // namespace cleave::cli
