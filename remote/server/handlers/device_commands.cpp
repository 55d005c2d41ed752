// Commands that move no data between client and server.
#include <algorithm>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/triple.h"
#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {
void handle(SessionContext& session, const wire::Command& command, const wire::NDRange& message) {
  const auto kernel = session.objects.handle<cl_kernel>(message.kernel());
  if (kernel == nullptr) return fail_command(session, command, CL_INVALID_KERNEL);
  if (message.dims() < 1 || message.dims() > 3)
    return fail_command(session, command, CL_INVALID_WORK_DIMENSION);
  const Triple offset = triple(message.offset());
  const Triple global = triple(message.global());
  const Triple local = triple(message.local());
  Pending pending;
  pending.overhead = session.objects.overhead_of_launch(message.kernel());
  const auto call = [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueNDRangeKernel(queue, kernel, message.dims(),
                                             message.offset() != nullptr ? offset.data() : nullptr,
                                             message.global() != nullptr ? global.data() : nullptr,
                                             message.local() != nullptr ? local.data() : nullptr, wait...);
  };
  enqueue(session, command, call, std::move(pending));
}

void handle(SessionContext& session, const wire::Command& command, const wire::FillBuffer& message) {
  const auto buffer = session.objects.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  const auto* const pattern = message.pattern();
  if (pattern == nullptr || pattern->size() > kMaxPattern)
    return fail_command(session, command, CL_INVALID_VALUE);
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueFillBuffer(queue, buffer, pattern->data(), pattern->size(), message.offset(),
                                          message.size(), wait...);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::FillImage& message) {
  constexpr std::size_t kColor = 16;
  const auto image = session.objects.handle<cl_mem>(message.image());
  if (image == nullptr) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  if (message.color() == nullptr || message.color()->size() != kColor)
    return fail_command(session, command, CL_INVALID_VALUE);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueFillImage(queue, image, message.color()->data(), origin.data(), region.data(),
                                         wait...);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::Migrate& message) {
  const auto kept = std::make_shared<std::vector<cl_mem>>();
  std::vector<cl_mem>& objects = *kept;
  for (const std::uint64_t id : numbers(message.objects())) {
    objects.push_back(session.objects.handle<cl_mem>(id));
    if (objects.back() == nullptr) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  }
  const auto call = [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueMigrateMemObjects(queue, static_cast<cl_uint>(objects.size()),
                                                 objects.empty() ? nullptr : objects.data(), message.flags(),
                                                 wait...);
  };
  Pending pending;
  pending.kept = kept;
  pending.overhead = objects.size() * kOverheadOfListed;
  enqueue(session, command, call, std::move(pending));
}

void handle(SessionContext& session, const wire::Command& command, const wire::Marker& message) {
  enqueue(session, command,
          [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
            if (message.plain() && count == 0) return session.cl.clEnqueueMarker(queue, event);
            return session.cl.clEnqueueMarkerWithWaitList(queue, count, waits, event);
          });
}

void handle(SessionContext& session, const wire::Command& command, const wire::Barrier& message) {
  (void)message;  // a barrier with a wait list and an event does all that a plain one does
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueBarrierWithWaitList(queue, wait...);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::FlushQueue& message) {
  (void)message;
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  session.reply(command, 0, to->queue->flush());
  session.outbox.count_ended(1, 0);
}

void handle(SessionContext& session, const wire::Command& command, const wire::FinishQueue& message) {
  (void)message;
  if (command.request() == 0) return session.report_violation("FinishQueue without a request for an answer");
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  to->queue->flush();
  std::erase(session.unflushed, to->queue);
  if (!session.answers.empty()) session.outbox.send(session.answers);
  session.poll_after_frame(to->queue);
  const cl_int error = to->queue->finish(command.request(), Queue::WaitedBy::by_caller);
  if (error != CL_SUCCESS) fail_command(session, command, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::WatchEvent& message) {
  const auto object = session.objects.find(message.event());
  if (!object || object->kind != Kind::event || object->handle == nullptr)
    return session.reply(command, message.event(), CL_INVALID_EVENT);
  if (object->watched) return session.reply(command, message.event(), CL_SUCCESS);
  auto* const event = static_cast<cl_event>(object->handle);
  struct Observer {
    Outbox& outbox;
    std::uint64_t id;
    static void CL_CALLBACK reached(cl_event, cl_int status, void* data) {
      const std::unique_ptr<Observer> observer(static_cast<Observer*>(data));
      if (status < CL_COMPLETE) return;
      EventsFrame frame;
      frame.add(wire::CreateEventStatus(frame.builder(), observer->id, status));
      observer->outbox.send(frame);
    }
  };
  cl_int error = CL_SUCCESS;
  for (const cl_int status : {CL_SUBMITTED, CL_RUNNING}) {
    auto observer = std::make_unique<Observer>(Observer{session.outbox, message.event()});
    error = session.cl.clSetEventCallback(event, status, &Observer::reached, observer.get());
    if (error != CL_SUCCESS) break;
    static_cast<void>(observer.release());
    session.objects.set_watched(message.event());
  }
  session.reply(command, message.event(), error);
}

}  // namespace cleave::remote::server
