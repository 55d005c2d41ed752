// clGetCleaveInfo: queries by programs and the `cleave` command (include/cleave/cleave.h).

#include <cstring>
#include <string>

#include "cleave/cleave.h"
#include "interpose/calls/overrides.h"
#include "interpose/interposer.h"
#include "turns/shared_file.h"

namespace cleave::interpose {
namespace {

cl_int give(const void* data, size_t bytes, size_t size, void* value, size_t* size_ret) {
  if (value != nullptr && size < bytes) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, data, bytes);
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

cl_int give(const std::string& text, size_t size, void* value, size_t* size_ret) {
  return give(text.c_str(), text.size() + 1, size, value, size_ret);
}

std::string settings_text(const Interposer& p) {
  std::string text;
  for (const auto& line : p.configuration.lines) {
    text.append(line.key).append("\t").append(line.value).append("\t").append(line.origin).append("\t");
    text.append(line.variable).append("\n");
  }
  return text;
}

std::string problems_text(const Interposer& p) {
  std::string text;
  for (const auto& problem : p.configuration.problems) text.append(problem).append("\n");
  return text;
}

const char* name(neighbours::Freshness freshness) {
  if (freshness == neighbours::Freshness::never) return "none";
  return freshness == neighbours::Freshness::fresh ? "known" : "stale";
}

std::string neighbours_text(const neighbours::Report& report) {
  std::string text;
  for (const auto& [status, freshness, age] : report.sources) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
    text.append(status.name)
        .append("\t")
        .append(status.endpoint)
        .append("\t")
        .append(status.state)
        .append("\t");
    text.append(name(freshness)).append("\t");
    if (status.last_count) text.append(std::to_string(status.last_count->vms));
    text.append("\t");
    if (status.last_count) text.append(std::to_string(milliseconds));
    text.append("\n");
  }
  return text;
}

std::string statistics_text(const Interposer& p) {
  const auto kernels = p.counters.all();
  observe::SummaryContext context = p.summary_context();
  context.explanations = p.explanations(kernels);
  return observe::as_json(kernels, context);
}

bool is_device(const Table& next, cl_device_id device) {
  cl_device_type type = 0;
  return next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS;
}

cl_int answer(Interposer& p, cl_device_id device, cl_uint name, size_t size, void* value, size_t* size_ret) {
  switch (name) {
    case CL_CLEAVE_VERSION:
      return give(CLEAVE_VERSION, size, value, size_ret);
    case CL_CLEAVE_FACE:
      return give(p.face.name, size, value, size_ret);
    case CL_CLEAVE_NEXT:
      return give(p.face.next_name, size, value, size_ret);
    case CL_CLEAVE_SETTINGS:
      return give(settings_text(p), size, value, size_ret);
    case CL_CLEAVE_PROBLEMS:
      return give(problems_text(p), size, value, size_ret);
    case CL_CLEAVE_STATISTICS:
      return give(statistics_text(p), size, value, size_ret);
    case CL_CLEAVE_NEIGHBOURS:
      p.neighbours.start_polling();
      return give(neighbours_text(p.neighbours.report()), size, value, size_ret);
    case CL_CLEAVE_VMS: {
      p.neighbours.start_polling();
      const cl_uint vms = p.neighbours.vms();
      return give(&vms, sizeof vms, size, value, size_ret);
    }
    case CL_CLEAVE_DEVICE_CORES: {
      if (!is_device(p.next, device)) return CL_INVALID_DEVICE;
      const cl_ulong cores = p.devices.of(device)->plan.cores;
      return give(&cores, sizeof cores, size, value, size_ret);
    }
    case CL_CLEAVE_DEVICE_TURNS:
      if (!is_device(p.next, device)) return CL_INVALID_DEVICE;
      return give(turns::SharedFile::name_for(turn_identity(*p.devices.of(device))) + "\t" +
                      turn_kind(*p.devices.of(device)),
                  size, value, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

}  // namespace

cl_int CL_API_CALL get_cleave_info(cl_device_id device, cl_uint name, size_t size, void* value,
                                   size_t* size_ret) noexcept try {
  return answer(interposer(), device, name, size, value, size_ret);
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::interpose
