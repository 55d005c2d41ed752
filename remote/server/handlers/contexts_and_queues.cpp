// Contexts, queues, samplers and events; releasing objects.
#include <memory>
#include <optional>
#include <utility>

#include "opencl/info.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/lists.h"
#include "remote/server/session/platforms.h"

namespace cleave::remote::server {
namespace {

// A properties list as OpenCL takes it: pairs and a terminating zero; a second zero in case the last pair is incomplete.
template <typename Property, typename Wire>
std::vector<Property> zero_terminated(const flatbuffers::Vector<Wire>* properties) {
  std::vector<Property> list;
  for (const Wire one : numbers(properties)) list.push_back(static_cast<Property>(one));
  list.insert(list.end(), 2, 0);
  return list;
}

// Handles of GL and VA objects and addresses are the client's machine's: no driver is to see them.
bool is_of_client_machine(std::int64_t name, std::int64_t value) {
  constexpr std::int64_t kVaDisplay = 0x4097, kFirstGl = 0x2008, kLastGl = 0x200C;  // CL_CGL_SHAREGROUP_KHR
  constexpr std::uint64_t kLowestAddress = 1U << 16U;                               // vm.mmap_min_addr
  return name == kVaDisplay || (name >= kFirstGl && name <= kLastGl) ||
         static_cast<std::uint64_t>(value) >= kLowestAddress;
}

// As the driver takes them, with a terminating zero; empty: NULL. Nothing: the driver is not to see them.
std::optional<std::vector<cl_context_properties>> context_properties(const Table& cl,
                                                                     const wire::CreateContext& message,
                                                                     cl_device_id device) {
  std::vector<cl_context_properties> list;
  if (message.complete() && message.properties() == nullptr) return list;
  const auto platform =
      opencl::info<cl_context_properties>(cl.clGetDeviceInfo, device, CL_DEVICE_PLATFORM);  // a handle
  const auto given = numbers(message.properties());
  for (std::size_t i = 0; i + 1 < given.size(); i += 2) {
    const bool is_platform = given[i] == CL_CONTEXT_PLATFORM;
    if (is_of_client_machine(given[i], given[i + 1])) return std::nullopt;
    list.insert(list.end(), {given[i], is_platform && given[i + 1] != 0 ? platform : given[i + 1]});
  }
  if (!message.complete()) list.insert(list.end(), {CL_CONTEXT_PLATFORM, platform});
  list.push_back(0);
  return list;
}

struct ContextObserver {
  Outbox& outbox;
  std::uint64_t context;
};

void CL_CALLBACK notify(const char* text, const void* data, size_t size, void* user_data) {
  constexpr std::size_t kMaxData = 4096;
  const auto& observer = *static_cast<const ContextObserver*>(user_data);
  EventsFrame frame;
  auto& builder = frame.builder();
  const auto words = builder.CreateString(text != nullptr ? text : "");
  const auto bytes = builder.CreateVector(static_cast<const std::uint8_t*>(data),
                                          data != nullptr && size <= kMaxData ? size : 0);
  frame.add(wire::CreateContextError(builder, observer.context, words, bytes));
  observer.outbox.send(frame);
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::CreateSubDevices& message) {
  const auto device = session.objects.handle<cl_device_id>(message.device());
  if (device == nullptr) return session.reply(command, message.first(), CL_INVALID_DEVICE);
  if (is_empty(message.properties())) return session.reply(command, message.first(), CL_INVALID_VALUE);
  if (session.is_full()) return session.reply(command, message.first(), CL_OUT_OF_HOST_MEMORY);
  const auto properties = zero_terminated<cl_device_partition_property>(message.properties());
  cl_uint count = 0;
  cl_int error = session.cl.clCreateSubDevices(device, properties.data(), 0, nullptr, &count);
  std::vector<cl_device_id> made(count);
  if (error == CL_SUCCESS)
    error = session.cl.clCreateSubDevices(device, properties.data(), count, made.data(), nullptr);
  if (error != CL_SUCCESS) return session.reply(command, message.first(), error);
  std::vector<flatbuffers::Offset<wire::Device>> devices;
  for (cl_uint i = 0; i < count; ++i) {
    const std::uint64_t id = message.first() + i;
    if (!session.check_new_id(id)) return;
    if (!session.register_object(id, {Kind::device, made[i]})) return;
    if (command.request() != 0)
      devices.push_back(describe(session.cl, session.answers.builder(), OfferedDevice{id, made[i]}));
  }
  if (command.request() == 0) return;
  auto& builder = session.answers.builder();
  const auto list = builder.CreateVector(devices);
  session.answers.add(wire::CreateAnswer(builder, command.request(), CL_SUCCESS, count, 0, 0, 0, list));
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateContext& message) {
  if (!session.may_create(command, message.id())) return;
  const auto devices = session.devices_of(message.devices());
  if (!devices) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  if (devices->empty()) return session.reply(command, message.id(), CL_INVALID_VALUE);
  const auto properties = context_properties(session.cl, message, devices->front());
  if (!properties) return session.reply(command, message.id(), CL_INVALID_PROPERTY);
  // Never freed: the driver does not say which call is the last.
  auto* const observer = message.notify() ? new ContextObserver{session.outbox, message.id()} : nullptr;
  cl_int error = CL_SUCCESS;
  const cl_context context =
      session.cl.clCreateContext(list_of(*properties), static_cast<cl_uint>(devices->size()), devices->data(),
                                 observer != nullptr ? &notify : nullptr, observer, &error);
  if (context == nullptr) {
    delete observer;
  } else if (observer != nullptr) {
    session.overhead_begun += kOverheadOfWatch;  // never ends
  }
  session.register_created(command, message.id(), {Kind::context, context}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateQueue& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  const auto device = session.objects.handle<cl_device_id>(message.device());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  if (device == nullptr) return session.reply(command, message.id(), CL_INVALID_DEVICE);
  if (session.queue_count >= session.limits.queues)
    return session.reply(command, message.id(), CL_OUT_OF_RESOURCES);
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = nullptr;
  if (message.plain()) {
    const cl_command_queue_properties bits =
        is_empty(message.properties()) ? 0 : numbers(message.properties()).front();
    queue = session.cl.clCreateCommandQueue(context, device, bits, &error);
  } else {
    const auto properties = zero_terminated<cl_queue_properties>(message.properties());
    queue = session.cl.clCreateCommandQueueWithProperties(
        context, device, message.properties() != nullptr ? properties.data() : nullptr, &error);
  }
  Object object{Kind::queue, queue};
  if (error == CL_SUCCESS) {
    const auto bits = opencl::info<cl_command_queue_properties>(session.cl.clGetCommandQueueInfo, queue,
                                                                CL_QUEUE_PROPERTIES);
    const Queue::QueueInfo info{message.id(), queue, (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0,
                                (bits & CL_QUEUE_PROFILING_ENABLE) != 0};
    object.queue = std::make_shared<Queue>(
        session.cl, session.outbox, session.reads, info,
        Queue::ReportThresholds{session.limits.window_commands / 8, session.limits.window_bytes / 8});
    ++session.queue_count;
  }
  session.register_created(command, message.id(), std::move(object), error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SetQueueProperty& message) {
  const auto object = session.objects.find(message.queue());
  if (!object || object->kind != Kind::queue)
    return session.reply(command, message.queue(), CL_INVALID_COMMAND_QUEUE);
  // The watcher thread relies on the order.
  if ((message.properties() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    return session.reply(command, message.queue(), CL_INVALID_QUEUE_PROPERTIES);
  }
  cl_command_queue_properties before = 0;
  const cl_int error = session.cl.clSetCommandQueueProperty(object->queue->handle(), message.properties(),
                                                            message.enable() ? CL_TRUE : CL_FALSE, &before);
  if (error == CL_SUCCESS && (message.properties() & CL_QUEUE_PROFILING_ENABLE) != 0) {
    object->queue->set_profiling(message.enable());
  }
  if (command.request() == 0) return session.reply(command, message.queue(), error);
  session.answers.add(wire::CreateAnswer(session.answers.builder(), command.request(), error, before));
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateSampler& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  cl_sampler sampler = nullptr;
  if (message.plain()) {
    if (message.properties() == nullptr || message.properties()->size() != 3) {
      return session.reply(command, message.id(), CL_INVALID_VALUE);
    }
    const auto three = numbers(message.properties());
    sampler = session.cl.clCreateSampler(context, static_cast<cl_bool>(three[0]),
                                         static_cast<cl_addressing_mode>(three[1]),
                                         static_cast<cl_filter_mode>(three[2]), &error);
  } else {
    const auto properties = zero_terminated<cl_sampler_properties>(message.properties());
    sampler = session.cl.clCreateSamplerWithProperties(
        context, message.properties() != nullptr ? properties.data() : nullptr, &error);
  }
  session.register_created(command, message.id(), {Kind::sampler, sampler}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::CreateUserEvent& message) {
  if (!session.may_create(command, message.id())) return;
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, message.id(), CL_INVALID_CONTEXT);
  cl_int error = CL_SUCCESS;
  const cl_event event = session.cl.clCreateUserEvent(context, &error);
  session.register_created(command, message.id(), {Kind::event, event}, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SetUserEventStatus& message) {
  const auto event = session.objects.handle<cl_event>(message.event());
  session.reply(
      command, message.event(),
      event != nullptr ? session.cl.clSetUserEventStatus(event, message.status()) : CL_INVALID_EVENT);
  if (message.status() >= CL_COMPLETE) return;
  for (const auto& queue : session.objects.queues()) queue->poll_for_failures();
}

void handle(SessionContext& session, const wire::Command& command, const wire::WatchDestruction& message) {
  struct Observer {
    Outbox& outbox;
    std::uint64_t id;
    static void CL_CALLBACK gone(cl_mem, void* data) {
      const std::unique_ptr<Observer> observer(static_cast<Observer*>(data));
      EventsFrame frame;
      frame.add(wire::CreateMemoryReleased(frame.builder(), observer->id));
      observer->outbox.send(frame);
    }
  };
  const auto watched = session.objects.find(message.object());
  if (watched && watched->watched) return session.reply(command, message.object(), CL_SUCCESS);
  if (const auto program = session.objects.handle<cl_program>(message.object())) {
    const auto nothing = [](cl_program, void*) {};
    const cl_int error = session.cl.clSetProgramReleaseCallback(program, nothing, nullptr);
    if (error == CL_SUCCESS) session.objects.set_watched(message.object());
    return session.reply(command, message.object(), error);
  }
  const auto memory = session.objects.handle<cl_mem>(message.object());
  if (memory == nullptr) return session.reply(command, message.object(), CL_INVALID_MEM_OBJECT);
  auto observer = std::make_unique<Observer>(Observer{session.outbox, message.object()});
  const cl_int error = session.cl.clSetMemObjectDestructorCallback(memory, &Observer::gone, observer.get());
  if (error == CL_SUCCESS) {
    static_cast<void>(observer.release());
    session.objects.set_watched(message.object());
  }
  session.reply(command, message.object(), error);
}

namespace {

template <typename Handle>
void release_with(cl_int(CL_API_CALL* function)(Handle), const Object& object) {
  function(static_cast<Handle>(object.handle));
}

void release(SessionContext& session, const Object& object) {
  if (object.handle == nullptr) return;
  switch (object.kind) {
    case Kind::platform:
      return;
    case Kind::device:
      return release_with(session.cl.clReleaseDevice, object);
    case Kind::context:
      return release_with(session.cl.clReleaseContext, object);
    case Kind::queue:
      --session.queue_count;
      std::erase(session.unflushed, object.queue);
      object.queue->flush();
      std::erase_if(session.released_queues, [](const auto& queue) { return queue.expired(); });
      session.released_queues.push_back(object.queue);
      object.queue->release_when_idle();
      return;
    case Kind::memory:
      session.peers.forget(static_cast<cl_mem>(object.handle));
      session.has_released_memory = true;
      return release_with(session.cl.clReleaseMemObject, object);
    case Kind::sampler:
      return release_with(session.cl.clReleaseSampler, object);
    case Kind::program:
      return release_with(session.cl.clReleaseProgram, object);
    case Kind::kernel:
      return release_with(session.cl.clReleaseKernel, object);
    case Kind::event:
      return release_with(session.cl.clReleaseEvent, object);
  }
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::Release& message) {
  cl_int error = CL_SUCCESS;
  for (const std::uint64_t id : numbers(message.ids())) {
    const auto object = session.objects.remove(id);
    if (object) {
      release(session, *object);
    } else {
      error = CL_INVALID_VALUE;
    }
  }
  session.reply(command, 0, error);
}

}  // namespace cleave::remote::server
