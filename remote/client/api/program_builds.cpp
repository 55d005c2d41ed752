// Building, compiling and linking. The call waits for the server, whether or not there is a callback; other threads' calls
// go on meanwhile.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/api/programs.h"
#include "remote/client/includes/include_search.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"
#include "remote/protocol/features.h"

namespace cleave::remote::client {
namespace {

// An optional list of devices.
cl_int resolve_build_devices(const std::vector<Object*>& known, cl_uint count, const cl_device_id* list,
                             std::vector<Object*>& devices, std::vector<Id>& ids) {
  if ((count == 0) != (list == nullptr)) return CL_INVALID_VALUE;
  return resolve_devices(known, count, list, devices, ids);
}

// Drops what was known of the previous build.
void reset_build_info(ProgramState& state) {
  state.infos.clear();
  const base::MutexLock lock(state.mutex);
  state.kernels.clear();
}

// Some drivers distinguish no options from empty ones.
template <typename Builder>
flatbuffers::Offset<flatbuffers::String> wire_options(Builder& b, const char* options) {
  return options == nullptr ? 0 : b.CreateString(options);
}

// The input of a build besides its program and devices.
struct BuildInput {
  const char* given;  // the program's options, which may be null
  std::string options;
  IncludedFiles sources;

  [[nodiscard]] Box data() { return Box::contiguous(sources.texts.data(), sources.texts.size()); }

  template <typename Builder>
  flatbuffers::Offset<wire::Included> included(Builder& b) const {
    if (sources.empty()) return 0;
    const auto names = b.CreateVectorOfStrings(sources.names);
    const auto sizes = b.CreateVector(sources.sizes);
    return wire::CreateIncluded(b, names, sizes, b.CreateVectorOfStrings(sources.options));
  }
};

BuildInput build_input_for(const ProgramState& program, const char* options,
                           std::vector<std::string_view> headers = {},
                           const std::vector<std::string_view>& names = {}) {
  headers.emplace_back(program.source);
  BuildInput text{options, options == nullptr ? "" : options, {}};
  text.sources = find_included_files(headers, names, text.options);
  if (!text.sources.empty() && !program.connection->supports(Feature::includes)) {
    text.sources = {};
    text.sources.problem = "the server does not accept files that programs include";
  }
  return text;
}

// Adjusts what the program sees of a build: its own options, and which files were not found if that may be why it failed.
void amend_build_info(ProgramState& state, const BuildInput& text, cl_int error) {
  const bool failed = error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE;
  const auto amend = [&](Object* device, cl_program_build_info name, const std::string& value, bool replace) {
    const auto key = info_key(wire::InfoSubject::program_build, name, 0, state_of<DeviceState>(*device).id);
    const InfoCache::Info* const info = state.infos.find(key);
    if (info == nullptr || info->error != CL_SUCCESS) return;
    const std::string all = (replace ? std::string() : cached_string(state.infos, key)) + value;
    const auto* const bytes = reinterpret_cast<const std::byte*>(all.c_str());
    state.infos.put(key, {CL_SUCCESS, {bytes, bytes + all.size() + 1}});
  };
  for (Object* const device : state.devices) {
    if (!text.sources.empty()) amend(device, CL_PROGRAM_BUILD_OPTIONS, text.options, true);
    const auto log = info_key(wire::InfoSubject::program_build, CL_PROGRAM_BUILD_LOG, 0,
                              state_of<DeviceState>(*device).id);
    if (failed && !text.sources.problem.empty() && reports_missing_file(cached_string(state.infos, log)))
      amend(device, CL_PROGRAM_BUILD_LOG, "cleave: " + text.sources.problem + "\n", false);
  }
}

// Whether the driver has built: then there are build results.
bool has_build_ended(cl_int error) {
  return error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE ||
         error == CL_LINK_PROGRAM_FAILURE;
}

void end_build(Object& program, const PendingRequest& pending, const BuildInput& text, BuildNotify notify,
               void* user_data) {
  ProgramState& state = state_of<ProgramState>(program);
  state.infos.clear();
  if (pending.answer() != nullptr) cache_infos(state.infos, pending.answer()->infos());
  amend_build_info(state, text, pending.error);
  notify_build_end(program, pending.error, notify, user_data);
}

}  // namespace

void notify_build_end(Object& program, cl_int error, BuildNotify notify, void* user_data) {
  if (notify == nullptr || !has_build_ended(error)) return;
  client.objects.hold(program);
  client.callbacks.post([&program, notify, user_data] {
    notify(objects::handle_of<cl_program>(&program), user_data);
    client.objects.drop(program);
  });
}

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                  const char* options, BuildNotify notify, void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramState& state = state_of<ProgramState>(*object);
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  std::vector<Object*> devices;
  std::vector<Id> device_ids;
  if (const cl_int error = resolve_build_devices(state.devices, count, list, devices, device_ids);
      error != CL_SUCCESS)
    return error;
  reset_build_info(state);
  BuildInput text = build_input_for(state, options);
  PendingRequest pending;
  const cl_int error = state.connection->call(
      {}, pending,
      [&](auto& b) {
        const auto list_offset = b.CreateVector(device_ids);
        const auto options_offset = wire_options(b, text.given);
        return wire::CreateBuildProgram(b, state.id, list_offset, options_offset, text.included(b));
      },
      text.data());
  end_build(*object, pending, text, notify, user_data);
  return error;
}

cl_int CL_API_CALL clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                    const char* options, cl_uint headers, const cl_program* header_list,
                                    const char** header_names, BuildNotify notify, void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramState& state = state_of<ProgramState>(*object);
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  if ((headers == 0) != (header_list == nullptr) || (headers == 0) != (header_names == nullptr))
    return CL_INVALID_VALUE;
  std::vector<Object*> devices;
  std::vector<Id> device_ids;
  if (const cl_int error = resolve_build_devices(state.devices, count, list, devices, device_ids);
      error != CL_SUCCESS)
    return error;
  std::vector<Id> ids;
  std::vector<std::string_view> texts;
  std::vector<std::string> names;
  for (cl_uint i = 0; i < headers; ++i) {
    const Object* const header = find(header_list[i]);
    if (header == nullptr || header_names[i] == nullptr) return CL_INVALID_PROGRAM;
    ids.push_back(state_of<ProgramState>(*header).id);
    texts.emplace_back(state_of<ProgramState>(*header).source);
    names.emplace_back(header_names[i]);
  }
  reset_build_info(state);
  BuildInput text = build_input_for(state, options, texts, {names.begin(), names.end()});
  PendingRequest pending;
  const cl_int error = state.connection->call(
      {}, pending,
      [&](auto& b) {
        const auto names_offset = b.CreateVectorOfStrings(names);
        const auto options_offset = wire_options(b, text.given);
        const auto list_offset = b.CreateVector(device_ids);
        const auto headers_offset = b.CreateVector(ids);
        return wire::CreateCompileProgram(b, state.id, list_offset, options_offset, headers_offset,
                                          names_offset, text.included(b));
      },
      text.data());
  end_build(*object, pending, text, notify, user_data);
  return error;
}

cl_program CL_API_CALL clLinkProgram(cl_context handle, cl_uint count, const cl_device_id* list,
                                     const char* options, cl_uint programs, const cl_program* program_list,
                                     BuildNotify notify, void* user_data, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (programs == 0 || program_list == nullptr || (notify == nullptr && user_data != nullptr))
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  std::vector<Object*> devices;
  std::vector<Id> device_ids;
  if (const cl_int error = resolve_build_devices(of.devices, count, list, devices, device_ids);
      error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  std::vector<Id> ids;
  for (cl_uint i = 0; i < programs; ++i) {
    const Object* const program = find(program_list[i]);
    if (program == nullptr) return fail<cl_program>(error_ret, CL_INVALID_PROGRAM);
    ids.push_back(state_of<ProgramState>(*program).id);
  }
  NewObject<ProgramState> made(*context, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->devices = count != 0 ? devices : of.devices;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    const auto text = wire_options(b, options);
    const auto list_offset = b.CreateVector(device_ids);
    return wire::CreateLinkProgram(b, made->id, of.id, list_offset, text, b.CreateVector(ids));
  });
  if (error_ret != nullptr) *error_ret = error;
  // If linking failed and the driver created a program all the same, the answer has infos, which say why it failed.
  const auto* const infos = pending.answer() == nullptr ? nullptr : pending.answer()->infos();
  if (error != CL_SUCCESS && (infos == nullptr || infos->size() == 0)) return nullptr;
  Object& object = made.publish();
  end_build(object, pending, {options, {}, {}}, notify, user_data);
  return objects::handle_of<cl_program>(&object);
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device_handle,
                                         cl_program_build_info name, size_t size, void* value,
                                         size_t* size_ret) {
  ProgramState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_PROGRAM;
  Object* const device = find(device_handle);
  // Without a device it is for the driver to say.
  if (device_handle != nullptr &&
      std::find(state->devices.begin(), state->devices.end(), device) == state->devices.end())
    return CL_INVALID_DEVICE;
  const Id id = device == nullptr ? 0 : state_of<DeviceState>(*device).id;
  return cached_or_queried(*state->connection, state->infos,
                           {wire::InfoSubject::program_build, state->id, name, id}, {size, value, size_ret});
}

}  // namespace cleave::remote::client
