#include "remote/server/peers/peer_transfers.h"

#include <algorithm>
#include <exception>

#include "remote/server/peers/ticket_store.h"

namespace cleave::remote::server {
namespace {

using std::chrono::steady_clock;

}  // namespace

PeerTransfers::~PeerTransfers() {
  std::list<Running> left;
  {
    const base::MutexLock lock(mutex_);
    for (Running& each : running_) each.stream->shutdown();
    left.swap(running_);
  }
  for (Running& each : left) each.thread.join();
}

bool PeerTransfers::offer(std::uint32_t request, ContentsRange range) {
  return ask({std::move(range), request, true, {}}, {.kind = PeerMessage::Kind::offer});
}

bool PeerTransfers::fetch(std::uint32_t request, ContentsRange range, std::string ticket,
                          std::vector<std::string> addresses) {
  return ask(
      {std::move(range), request, false, {}},
      {.kind = PeerMessage::Kind::fetch, .ticket = std::move(ticket), .addresses = std::move(addresses)});
}

bool PeerTransfers::ask(Waiting waiting, PeerMessage message) {
  tidy(steady_clock::now());
  {
    const base::MutexLock lock(mutex_);
    if (waiting_.size() >= kMaxOffers) return false;
    message.number = ++latest_;
    waiting.until = steady_clock::now() + kFrontTime;
    waiting_.emplace(message.number, std::move(waiting));
  }
  // Its answer may come before this returns.
  if (to_front_ && to_front_(message)) return true;
  return !take(message.number);
}

void PeerTransfers::forget(cl_mem buffer) {
  std::vector<Waiting> forgotten;  // destroyed without the lock: that calls the driver
  const base::MutexLock lock(mutex_);
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const bool is_meant =
        each->second.is_offer && each->second.request == 0 && each->second.range.buffer() == buffer;
    if (is_meant) forgotten.push_back(std::move(each->second));
    each = is_meant ? waiting_.erase(each) : std::next(each);
  }
}

std::optional<PeerTransfers::Waiting> PeerTransfers::take(std::uint32_t number) {
  const base::MutexLock lock(mutex_);
  auto found = waiting_.extract(number);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

void PeerTransfers::handle(const PeerMessage& message, base::FileDescriptor descriptor) {
  if (message.kind == PeerMessage::Kind::offered) return note_offered(message);
  auto waiting = take(message.number);
  if (!waiting) return;  // it has become too old
  const bool is_expected = waiting->is_offer == (message.kind == PeerMessage::Kind::arrived);
  if (message.kind == PeerMessage::Kind::failed || !is_expected || !descriptor.is_open()) {
    if (waiting->request != 0) answer(waiting->request, false);
    return;
  }
  run(std::move(*waiting), std::move(descriptor));
}

void PeerTransfers::note_offered(const PeerMessage& message) {
  std::uint32_t request = 0;
  {
    const base::MutexLock lock(mutex_);
    const auto found = waiting_.find(message.number);
    if (found == waiting_.end() || !found->second.is_offer) return;
    request = std::exchange(found->second.request, 0);
    found->second.until = steady_clock::now() + kTicketTime;
  }
  if (request != 0) answer(request, true, message.ticket);
}

void PeerTransfers::run(Waiting waiting, base::FileDescriptor descriptor) {
  const std::uint32_t request = waiting.request;
  const auto shared = std::make_shared<const Waiting>(std::move(waiting));  // not destroyed with the lock
  auto stream = make_socket_stream(descriptor.release());
  Stream& connection = *stream;
  bool has_begun = false;
  try {
    const base::MutexLock lock(mutex_);
    if (running_.size() < kMaxRunning) {
      Running& one = running_.emplace_back();
      one.stream = std::move(stream);
      try {
        one.thread = std::thread([this, &one, &connection, shared] {
          transfer(*shared, connection);
          const base::MutexLock again(mutex_);
          one.has_ended = true;
        });
        has_begun = true;
      } catch (const std::exception&) {
        running_.pop_back();
      }
    }
  } catch (const std::bad_alloc&) {  // the other side sees that the connection ends
  }
  if (!has_begun && request != 0) answer(request, false);
}

// At its end the connection is shut down: the other side waits for nothing more.
void PeerTransfers::transfer(const Waiting& waiting, Stream& stream) {
  bool good = false;
  try {
    good = waiting.is_offer ? send_contents(waiting.range, stream, staging_, kPeerStallTime)
                            : receive_contents(waiting.range, stream, staging_, silence_);
  } catch (const std::bad_alloc&) {  // as if the connection had failed
  }
  stream.shutdown();
  if (waiting.request != 0) answer(waiting.request, good);
}

void PeerTransfers::tidy(Time now) {
  std::vector<Waiting> late;  // destroyed without the lock: that calls the driver
  std::list<Running> ended;
  {
    const base::MutexLock lock(mutex_);
    for (auto each = waiting_.begin(); each != waiting_.end();) {
      if (now < each->second.until) {
        ++each;
        continue;
      }
      late.push_back(std::move(each->second));
      each = waiting_.erase(each);
    }
    for (auto each = running_.begin(); each != running_.end();) {
      const auto next = std::next(each);
      if (each->has_ended) ended.splice(ended.end(), running_, each);
      each = next;
    }
  }
  for (Running& each : ended) each.thread.join();
  for (const Waiting& each : late) {
    if (each.request != 0) answer(each.request, false);
  }
}

bool PeerTransfers::is_busy() {
  const base::MutexLock lock(mutex_);
  const bool is_awaited = std::any_of(waiting_.begin(), waiting_.end(),
                                      [](const auto& each) { return each.second.request != 0; });
  return is_awaited ||
         std::any_of(running_.begin(), running_.end(), [](const Running& each) { return !each.has_ended; });
}

void PeerTransfers::answer(std::uint32_t request, bool good, const std::string& bytes) {
  EventsFrame frame;
  auto& builder = frame.builder();
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto vector = bytes.empty() ? flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>>()
                                    : builder.CreateVector(data, bytes.size());
  wire::AnswerBuilder made(builder);
  made.add_request(request);
  made.add_error(good ? CL_SUCCESS : CL_INVALID_OPERATION);
  made.add_bytes(vector);
  frame.add(made.Finish());
  outbox_.send(frame);
}

}  // namespace cleave::remote::server
