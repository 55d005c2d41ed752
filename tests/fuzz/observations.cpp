#include "observations.h"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace fuzz {

namespace {

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '\n')
      safe += "\\n";
    else if (letter == '\\' || static_cast<unsigned char>(letter) < 32)
      safe += '?';
    else
      safe += letter;
  }
  return safe;
}

// "same as" order of QUEUED, SUBMIT, START, END, COMPLETE; or the status of the query that was refused.
std::string times(cl_event event) {
  constexpr std::array kNames = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                 CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
  cl_ulong before = 0;
  for (const int name : kNames) {
    cl_ulong time = 0;
    const cl_int status =
        clGetEventProfilingInfo(event, static_cast<cl_profiling_info>(name), sizeof time, &time, nullptr);
    if (status != CL_SUCCESS) return "no" + std::to_string(status);
    if (time < before) return "unordered" + std::to_string(name - CL_PROFILING_COMMAND_QUEUED);
    before = time;
  }
  return "ordered";
}

}  // namespace

void Observations::add(std::string_view name, long long value) { add(name, std::to_string(value)); }

void Observations::add(std::string_view name, std::string_view text) {
  line_ += ' ';
  line_ += name;
  line_ += '=';
  line_ += escaped(text);
}

void Observations::hash(std::string_view name, const void* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (std::size_t place = 0; place < size; ++place)
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[place]) * 0x100000001b3U;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, hash);
  add(name, digits.data());
}

void Observations::event(std::string_view name, cl_event event, cl_command_queue queue) {
  cl_command_type type = 0;
  cl_int status = 1;
  cl_command_queue its_queue = nullptr;
  const cl_int answers[] = {
      clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr),
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
      clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof its_queue, static_cast<void*>(&its_queue),
                     nullptr)};
  std::string text;
  for (const cl_int answer : answers) text += std::to_string(answer) + ",";
  text += std::to_string(type) + "," + std::to_string(status) + (its_queue == queue ? ",own," : ",other,");
  add(name, text + times(event));
}

void Observations::note(std::string_view call) const {
  if (!shown_) return;
  std::printf("# %.*s\n", static_cast<int>(call.size()), call.data());
  std::fflush(stdout);
}

}  // namespace fuzz
