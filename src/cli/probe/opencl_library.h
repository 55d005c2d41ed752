// What the probes share: a library with OpenCL's names in it, opened by its path, and the line of
// communication.
#pragma once

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/probe/records.h"

namespace cleave::cli {

// Why a probe could not be answered; becomes its `failure` record.
class ProbeError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class OpenClLibrary {
 public:
  // Throws ProbeError with the dynamic loader's own words. The library is never closed: drivers leave
  // threads behind.
  explicit OpenClLibrary(const std::string& path);

  // The function of that name, with the type it has in OpenCL's headers. Throws ProbeError where there is
  // none.
  template <typename Function>
  Function* find(Function* /*type*/, const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  void* handle_;
};

// library.find with the name written once.
#define CLEAVE_CLI_FIND(library, name) (library).find(static_cast<decltype(&(name))>(nullptr), #name)

// Throws ProbeError where `error` is not CL_SUCCESS.
void require(cl_int error, const char* function);

std::vector<cl_platform_id> platforms_of(const OpenClLibrary& library);
std::vector<cl_device_id> devices_of(const OpenClLibrary& library, cl_platform_id platform);

// Standard output, kept for records; everybody else's words go to standard error from here on. Makes no core
// file.
class RecordWriter {
 public:
  RecordWriter();
  void write(const Record& record) const;

 private:
  int descriptor_;
};

// Runs `probe(answer)` and ends the process without exit handlers: a driver's could hang, and Cleave's own
// would write the user's statistics.
template <typename Probe>
[[noreturn]] void run_probe_and_exit(Probe probe) {
  const RecordWriter answer;
  int status = 0;
  try {
    probe(answer);
  } catch (const std::exception& failure) {
    answer.write({"failure", failure.what()});
    status = 1;
  }
  ::_exit(status);
}

}  // namespace cleave::cli
