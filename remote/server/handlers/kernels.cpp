// Kernels and their arguments.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/session.h"
#include "remote/server/session/svm_address.h"

namespace cleave::remote::server {
namespace {

constexpr cl_uint kMaxArguments = 4096;

ArgumentKind argument_kind(cl_kernel_arg_address_qualifier space, const std::string& type) {
  if (space == CL_KERNEL_ARG_ADDRESS_LOCAL) return ArgumentKind::local;
  if (type.starts_with("sampler_t")) return ArgumentKind::sampler;
  if (type.starts_with("queue_t")) return ArgumentKind::queue;
  const bool is_image = type.starts_with("image") && type.find("_t") != std::string::npos;
  const bool is_memory = space == CL_KERNEL_ARG_ADDRESS_GLOBAL || space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
  return is_memory || is_image || type.starts_with("pipe") ? ArgumentKind::memory : ArgumentKind::value;
}

// What the driver would take these bytes for is one of its handles.
bool is_handle(ArgumentKind expected) {
  return expected == ArgumentKind::memory || expected == ArgumentKind::sampler ||
         expected == ArgumentKind::queue;
}

bool accepts(Kind kind, ArgumentKind expected) {
  const bool is_bindable = kind == Kind::memory || kind == Kind::sampler || kind == Kind::queue;
  if (expected == ArgumentKind::unknown) return is_bindable;
  return (kind == Kind::memory && expected == ArgumentKind::memory) ||
         (kind == Kind::sampler && expected == ArgumentKind::sampler) ||
         (kind == Kind::queue && expected == ArgumentKind::queue);
}

// As drivers answer for a handle that is none of the argument's kind.
cl_int invalid_error_for(ArgumentKind expected) {
  return expected == ArgumentKind::sampler ? CL_INVALID_SAMPLER
         : expected == ArgumentKind::queue ? CL_INVALID_DEVICE_QUEUE
                                           : CL_INVALID_MEM_OBJECT;
}

}  // namespace

// Empty where the driver does not say; then what the client says goes to the driver as it is.
std::shared_ptr<Arguments> ClientSession::arguments_of(cl_kernel kernel) const {
  auto arguments = std::make_shared<Arguments>();
  cl_uint count = 0;
  cl_.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  for (cl_uint i = 0; i < std::min(count, kMaxArguments); ++i) {
    cl_kernel_arg_address_qualifier space = 0;
    const cl_int error =
        cl_.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, nullptr);
    if (error != CL_SUCCESS) return std::make_shared<Arguments>();
    const InfoResult type = query_info(
        [&](auto... rest) { return cl_.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, rest...); });
    arguments->push_back(argument_kind(space, std::string(type.bytes.begin(), type.bytes.end())));
  }
  return arguments;
}

// All that does not change, so that the client need not ask.
void ClientSession::describe_kernel(flatbuffers::FlatBufferBuilder& builder, Infos& infos,
                                    cl_kernel kernel) const {
  for (const cl_kernel_info param : {CL_KERNEL_FUNCTION_NAME, CL_KERNEL_NUM_ARGS, CL_KERNEL_ATTRIBUTES}) {
    add_info(builder, infos, wire::InfoSubject::kernel, param,
             query_info([&](auto... rest) { return cl_.clGetKernelInfo(kernel, param, rest...); }));
  }
  cl_uint count = 0;
  cl_.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  for (cl_uint i = 0; i < std::min(count, kMaxArguments); ++i) {
    for (const cl_kernel_arg_info param :
         {CL_KERNEL_ARG_ADDRESS_QUALIFIER, CL_KERNEL_ARG_ACCESS_QUALIFIER, CL_KERNEL_ARG_TYPE_NAME,
          CL_KERNEL_ARG_TYPE_QUALIFIER, CL_KERNEL_ARG_NAME}) {
      add_info(builder, infos, wire::InfoSubject::kernel_argument, param,
               query_info([&](auto... rest) { return cl_.clGetKernelArgInfo(kernel, i, param, rest...); }),
               i);
    }
  }
  cl_program program = nullptr;
  cl_uint devices = 0;
  cl_.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, nullptr);
  cl_.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, nullptr);
  std::vector<cl_device_id> list(devices);
  cl_.clGetProgramInfo(program, CL_PROGRAM_DEVICES, devices * sizeof(cl_device_id), list.data(), nullptr);
  for (const cl_device_id device : list) {
    // Those of local and private memory follow the arguments.
    for (const cl_kernel_work_group_info param :
         {CL_KERNEL_WORK_GROUP_SIZE, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
          CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE}) {
      const InfoResult result = query_info(
          [&](auto... rest) { return cl_.clGetKernelWorkGroupInfo(kernel, device, param, rest...); });
      add_info(builder, infos, wire::InfoSubject::kernel_work_group, param, result, 0,
               objects_.id_of(device));
    }
  }
}

void ClientSession::handle(const wire::Command& command, const wire::CreateKernel& message) {
  if (!check_new_id(message.id())) return;
  const auto program = objects_.handle<cl_program>(message.program());
  if (program == nullptr) return reply(command, message.id(), CL_INVALID_PROGRAM);
  if (message.name() == nullptr) return reply(command, message.id(), CL_INVALID_VALUE);
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel = cl_.clCreateKernel(program, message.name()->c_str(), &error);
  if (error != CL_SUCCESS) return reply(command, message.id(), error);
  if (!objects_.add(message.id(), {Kind::kernel, kernel, CL_SUCCESS, 0, {}, arguments_of(kernel)})) {
    return report_violation("an id that it may not choose");
  }
  if (command.request() == 0) return;
  auto& builder = answers_.builder();
  Infos infos;
  describe_kernel(builder, infos, kernel);
  const auto list = builder.CreateVector(infos);
  answers_.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, 0, 0, 0, list));
}

void ClientSession::handle(const wire::Command& command, const wire::CloneKernel& message) {
  if (!check_new_id(message.id())) return;
  const auto object = objects_.find(message.kernel());
  if (!object || object->kind != Kind::kernel) return reply(command, message.id(), CL_INVALID_KERNEL);
  cl_int error = CL_SUCCESS;
  const cl_kernel kernel = cl_.clCloneKernel(static_cast<cl_kernel>(object->handle), &error);
  register_created(command, message.id(), {Kind::kernel, kernel, CL_SUCCESS, 0, {}, object->arguments},
                   error);
}

void ClientSession::handle(const wire::Command& command, const wire::SetKernelArg& message) {
  const auto object = objects_.find(message.kernel());
  const std::uint64_t id = message.kernel();
  if (!object || object->kind != Kind::kernel) return reply(command, id, CL_INVALID_KERNEL);
  auto* const kernel = static_cast<cl_kernel>(object->handle);
  const Arguments& arguments = *object->arguments;
  // Unknown where the driver does not say: then what the client says goes to the driver.
  const ArgumentKind expected =
      message.index() < arguments.size() ? arguments[message.index()] : ArgumentKind::unknown;
  switch (message.kind()) {
    case wire::Argument::local:
      return reply(command, id, cl_.clSetKernelArg(kernel, message.index(), message.size(), nullptr));
    case wire::Argument::svm: {
      // A null pointer is as good as one into what this client has allocated.
      if (message.object() != 0 && !is_svm(message.object(), 0))
        return reply(command, id, CL_INVALID_ARG_VALUE);
      return reply(command, id, cl_.clSetKernelArgSVMPointer(kernel, message.index(), at(message.object())));
    }
    case wire::Argument::object: {
      if (message.size() != sizeof(void*)) return reply(command, id, CL_INVALID_ARG_SIZE);
      // The driver's handles are nothing that a kernel may see as a number.
      if (expected == ArgumentKind::value || expected == ArgumentKind::local)
        return reply(command, id, CL_INVALID_ARG_VALUE);
      void* handle = nullptr;
      if (message.object() != 0) {
        const auto value = objects_.find(message.object());
        const bool fits = value && accepts(value->kind, expected);
        if (!fits) return reply(command, id, invalid_error_for(expected));
        handle = value->handle;
      }
      return reply(command, id, cl_.clSetKernelArg(kernel, message.index(), sizeof handle, &handle));
    }
    case wire::Argument::bytes:
      break;
  }
  const auto* const value = message.value();
  if (value == nullptr || value->size() > kMaxArgument) return reply(command, id, CL_INVALID_ARG_VALUE);
  // Bytes that a driver would take for a handle of its own.
  if (is_handle(expected) && value->size() == sizeof(void*))
    return reply(command, id, invalid_error_for(expected));
  reply(command, id, cl_.clSetKernelArg(kernel, message.index(), value->size(), value->data()));
}

void ClientSession::handle(const wire::Command& command, const wire::SetKernelExecInfo& message) {
  const auto kernel = objects_.handle<cl_kernel>(message.kernel());
  const std::uint64_t id = message.kernel();
  if (kernel == nullptr) return reply(command, id, CL_INVALID_KERNEL);
  const auto* const value = message.value();
  if (value == nullptr)
    return reply(command, id, cl_.clSetKernelExecInfo(kernel, message.param(), 0, nullptr));
  if (value->size() > kMaxArgument) return reply(command, id, CL_INVALID_VALUE);
  if (message.param() == CL_KERNEL_EXEC_INFO_SVM_PTRS) {
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= value->size(); at += sizeof(std::uint64_t)) {
      std::uint64_t address = 0;
      std::memcpy(&address, value->data() + at, sizeof address);
      if (!is_svm(address, 0)) return reply(command, id, CL_INVALID_VALUE);
    }
  }
  // Aligned, as the driver may read pointers from it; never null, not even of no bytes.
  std::vector<std::uint64_t> aligned(value->size() / 8 + 1);
  if (value->size() > 0) std::memcpy(aligned.data(), value->data(), value->size());
  reply(command, id, cl_.clSetKernelExecInfo(kernel, message.param(), value->size(), aligned.data()));
}

void ClientSession::handle(const wire::Command& command, const wire::SetDefaultDeviceQueue& message) {
  const auto context = objects_.handle<cl_context>(message.context());
  const auto device = objects_.handle<cl_device_id>(message.device());
  const auto queue = objects_.handle<cl_command_queue>(message.queue());
  reply(command, message.queue(),
        context == nullptr  ? CL_INVALID_CONTEXT
        : device == nullptr ? CL_INVALID_DEVICE
        : queue == nullptr && message.queue() != 0
            ? CL_INVALID_COMMAND_QUEUE
            : cl_.clSetDefaultDeviceCommandQueue(context, device, queue));
}

}  // namespace cleave::remote::server
