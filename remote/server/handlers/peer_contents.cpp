// Contents that go to another server directly, or come from one. An error here makes the client move them itself.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remote/protocol/limits.h"
#include "remote/server/handlers/handlers.h"
#include "remote/transport/ticket.h"

namespace cleave::remote::server {
namespace {

template <typename Message>
std::optional<ContentsRange> contents_range(const SessionContext& session, const Message& message,
                                            cl_int& error) {
  const auto queue = session.objects.handle<cl_command_queue>(message.queue());
  if (queue == nullptr) return error = CL_INVALID_COMMAND_QUEUE, std::nullopt;
  const auto object = session.objects.find(message.buffer());
  if (!object || object->kind != Kind::memory) return error = CL_INVALID_MEM_OBJECT, std::nullopt;
  const bool is_within = message.size() > 0 && message.offset() <= object->size &&
                         message.size() <= object->size - message.offset();
  if (!is_within) return error = CL_INVALID_VALUE, std::nullopt;
  return ContentsRange(session.cl, queue, static_cast<cl_mem>(object->handle), message.offset(),
                       message.size());
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::OfferContents& message) {
  if (command.request() == 0)
    return session.report_violation("OfferContents without a request for an answer");
  cl_int error = CL_INVALID_OPERATION;
  auto range = contents_range(session, message, error);
  if (range && session.peers.offer(command.request(), std::move(*range))) return;
  session.reply(command, 0, error);
}

void handle(SessionContext& session, const wire::Command& command, const wire::FetchContents& message) {
  if (command.request() == 0)
    return session.report_violation("FetchContents without a request for an answer");
  const auto* const ticket = message.ticket();
  const auto* const addresses = message.addresses();
  if (ticket == nullptr || ticket->size() != kTicketSize || addresses == nullptr ||
      addresses->size() > kMaxPeerAddresses)
    return session.reply(command, 0, CL_INVALID_VALUE);
  std::vector<std::string> texts;
  for (const auto* const each : *addresses) {
    if (each->size() > kMaxPeerAddress) return session.reply(command, 0, CL_INVALID_VALUE);
    texts.push_back(each->str());
  }
  cl_int error = CL_INVALID_OPERATION;
  auto range = contents_range(session, message, error);
  std::string bytes(reinterpret_cast<const char*>(ticket->data()), ticket->size());
  if (range && session.peers.fetch(command.request(), std::move(*range), std::move(bytes), std::move(texts)))
    return;
  session.reply(command, 0, error);
}

}  // namespace cleave::remote::server
