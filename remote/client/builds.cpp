// Building, compiling and linking. The call waits for the server, other threads go on; a callback is called
// besides.
#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/includes.h"
#include "remote/client/info.h"
#include "remote/client/programs.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"
#include "remote/protocol/features.h"

namespace cleave::remote::client {
namespace {

using BuildNotify = void(CL_CALLBACK*)(cl_program, void*);

bool is_end_of_build(cl_int error) {
  return error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE ||
         error == CL_LINK_PROGRAM_FAILURE;
}

cl_int take_devices(const std::vector<Object*>& known, cl_uint count, const cl_device_id* list,
                    std::vector<Id>& ids) {
  if ((count == 0) != (list == nullptr)) return CL_INVALID_VALUE;
  std::vector<Object*> devices;
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  return device_ids(known, devices, ids) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

// What was known of the program is so no more.
void begin_build(ProgramBody& body) {
  body.infos.clear();
  const std::scoped_lock lock(body.mutex);
  body.kernels.clear();
}

// What a build is about besides its program and devices.
struct Text {
  std::string options;
  Sources sources;

  [[nodiscard]] Box data() { return Box::line(sources.texts.data(), sources.texts.size()); }

  template <typename Builder>
  flatbuffers::Offset<wire::Included> included(Builder& b) const {
    if (sources.empty()) return 0;
    const auto names = b.CreateVectorOfStrings(sources.names);
    const auto sizes = b.CreateVector(sources.sizes);
    return wire::CreateIncluded(b, names, sizes, b.CreateVectorOfStrings(sources.options));
  }
};

Text text_for(const ProgramBody& program, const char* options, std::vector<std::string_view> headers = {},
              const std::vector<std::string_view>& names = {}) {
  headers.emplace_back(program.source);
  Text text{options == nullptr ? "" : options, {}};
  text.sources = sources_of(headers, names, text.options);
  const std::uint64_t features = program.connection->welcome().features();
  if (!text.sources.empty() && (features & bit(Feature::includes)) == 0) {
    text.sources = {};
    text.sources.problem = "the server takes no files that programs include";
  }
  return text;
}

// What the program is told of a build: its own options, and what could not be had if that may be why it
// failed.
void amend_infos(ProgramBody& body, const Text& text, cl_int error) {
  const bool failed = error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE;
  const auto amend = [&](Object* device, cl_program_build_info name, const std::string& value, bool whole) {
    const auto key = key_of(wire::What::program_build, name, 0, body_of<DeviceBody>(*device).id);
    const Infos::Info* const info = body.infos.find(key);
    if (info == nullptr || info->error != CL_SUCCESS) return;
    const std::string all = (whole ? std::string() : known_text(body.infos, key)) + value;
    const auto* const bytes = reinterpret_cast<const std::byte*>(all.c_str());
    body.infos.put(key, {CL_SUCCESS, {bytes, bytes + all.size() + 1}});
  };
  for (Object* const device : body.devices) {
    if (!text.sources.empty()) amend(device, CL_PROGRAM_BUILD_OPTIONS, text.options, true);
    if (failed && !text.sources.problem.empty())
      amend(device, CL_PROGRAM_BUILD_LOG, "cleave: " + text.sources.problem + "\n", false);
  }
}

void end_build(Object& program, const Pending& pending, const Text& text, BuildNotify notify,
               void* user_data) {
  ProgramBody& body = body_of<ProgramBody>(program);
  body.infos.clear();
  if (pending.details() != nullptr) keep_infos(body.infos, pending.details()->infos());
  amend_infos(body, text, pending.error);
  if (notify == nullptr || !is_end_of_build(pending.error)) return;
  client.objects.hold(program);
  client.callbacks.post([&program, notify, user_data] {
    notify(objects::handle_of<cl_program>(&program), user_data);
    client.objects.drop(program);
  });
}

}  // namespace

bool device_ids(const std::vector<Object*>& known, const std::vector<Object*>& devices,
                std::vector<Id>& ids) {
  for (Object* const device : devices) {
    if (device == nullptr || std::find(known.begin(), known.end(), device) == known.end()) return false;
    ids.push_back(body_of<DeviceBody>(*device).id);
  }
  return true;
}

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                  const char* options, BuildNotify notify, void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramBody& body = body_of<ProgramBody>(*object);
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  std::vector<Id> devices;
  if (const cl_int error = take_devices(body.devices, count, list, devices); error != CL_SUCCESS)
    return error;
  begin_build(body);
  Text text = text_for(body, options);
  Pending pending;
  const cl_int error = body.connection->ask(
      {}, pending,
      [&](auto& b) {
        const auto list_offset = b.CreateVector(devices);
        const auto options_offset = b.CreateString(text.options);
        return wire::CreateBuildProgram(b, body.id, list_offset, options_offset, text.included(b));
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
  ProgramBody& body = body_of<ProgramBody>(*object);
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  if ((headers == 0) != (header_list == nullptr) || (headers == 0) != (header_names == nullptr))
    return CL_INVALID_VALUE;
  std::vector<Id> devices;
  if (const cl_int error = take_devices(body.devices, count, list, devices); error != CL_SUCCESS)
    return error;
  std::vector<Id> ids;
  std::vector<std::string_view> texts;
  std::vector<std::string> names;
  for (cl_uint i = 0; i < headers; ++i) {
    const Object* const header = find(header_list[i]);
    if (header == nullptr || header_names[i] == nullptr) return CL_INVALID_PROGRAM;
    ids.push_back(body_of<ProgramBody>(*header).id);
    texts.emplace_back(body_of<ProgramBody>(*header).source);
    names.emplace_back(header_names[i]);
  }
  begin_build(body);
  Text text = text_for(body, options, texts, {names.begin(), names.end()});
  Pending pending;
  const cl_int error = body.connection->ask(
      {}, pending,
      [&](auto& b) {
        const auto names_offset = b.CreateVectorOfStrings(names);
        const auto options_offset = b.CreateString(text.options);
        const auto list_offset = b.CreateVector(devices);
        const auto headers_offset = b.CreateVector(ids);
        return wire::CreateCompileProgram(b, body.id, list_offset, options_offset, headers_offset,
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
  const ContextBody& of = body_of<ContextBody>(*context);
  std::vector<Id> devices;
  if (const cl_int error = take_devices(of.devices, count, list, devices); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  std::vector<Id> ids;
  for (cl_uint i = 0; i < programs; ++i) {
    const Object* const program = find(program_list[i]);
    if (program == nullptr) return fail<cl_program>(error_ret, CL_INVALID_PROGRAM);
    ids.push_back(body_of<ProgramBody>(*program).id);
  }
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->devices = of.devices;
  if (count != 0) {
    body->devices.clear();
    for (cl_uint i = 0; i < count; ++i) body->devices.push_back(find(list[i]));
  }
  Pending pending;
  const cl_int error = of.connection->ask({}, pending, [&](auto& b) {
    const auto text = b.CreateString(options == nullptr ? "" : options);
    const auto list_offset = b.CreateVector(devices);
    return wire::CreateLinkProgram(b, body->id, of.id, list_offset, text, b.CreateVector(ids));
  });
  if (error_ret != nullptr) *error_ret = error;
  // A program that could not be linked can still be asked why, if the driver made one: then there is
  // something to tell.
  const auto* const told = pending.details() == nullptr ? nullptr : pending.details()->infos();
  if (error != CL_SUCCESS && (told == nullptr || told->size() == 0)) {
    delete body;
    client.objects.discard(*object);
    return nullptr;
  }
  client.objects.publish(*object, static_cast<Body*>(body));
  end_build(*object, pending, {}, notify, user_data);
  return objects::handle_of<cl_program>(object);
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device_handle,
                                         cl_program_build_info name, size_t size, void* value,
                                         size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramBody& body = body_of<ProgramBody>(*object);
  Object* const device = find(device_handle);
  if (device == nullptr || std::find(body.devices.begin(), body.devices.end(), device) == body.devices.end())
    return CL_INVALID_DEVICE;
  return answer_from(*body.connection, body.infos, wire::What::program_build, body.id,
                     body_of<DeviceBody>(*device).id, name, 0, {size, value, size_ret});
}

}  // namespace cleave::remote::client
