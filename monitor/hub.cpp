#include "monitor/hub.h"

#include <utility>

#include "base/text/monitor_line.h"
#include "daemon/peer_stream.h"

namespace cleave::monitor {
namespace {

constexpr std::string_view kFull = "full";

}  // namespace

Hub::Hub(HubOptions options)
    : options_(std::move(options)),
      shares_(options_.max_clients, options_.clients_per_peer, daemon::PeerShares::WhenFull::newcomers_wait),
      greeting_(base::greeting_line(static_cast<unsigned>(options_.heartbeat.count()), options_.busy_share,
                                    static_cast<unsigned>(options_.interval.count())) +
                '\n') {
  publish(Total{});
}

void Hub::set_limits(std::size_t max_clients, std::size_t clients_per_peer,
                     std::chrono::milliseconds patience) {
  shares_.set_limits(max_clients, clients_per_peer);
  options_.patience = patience;
}

void Hub::admit(daemon::Stream stream, const daemon::Peer& peer) {
  const daemon::PeerShares::Place place = shares_.add(++latest_, peer);
  if (!place.granted) return refuse(stream);
  if (place.instead) drop(*by_id_.at(*place.instead), DropReason::displaced);
  const auto client = std::make_shared<Client>(std::move(stream), *this);
  client->id = latest_;
  by_id_[client->id] = client.get();
  Round& round = rounds_[next_client_round_];
  client->place = {next_client_round_, round.insert(round.end(), client)};
  next_client_round_ = (next_client_round_ + 1) % kRounds;
  ++statistics_.admitted;
  client->start();
}

void Hub::refuse(daemon::Stream& stream) {
  ++statistics_.refused;
  const std::string bye = base::bye_line(kFull) + '\n';
  daemon::ErrorCode ignored;
  stream.write_some(asio::buffer(bye), ignored);
  daemon::close_peer(stream);
  if (const auto times = refusal_log_limit_.record(now())) {
    log_line(std::to_string(*times) + " clients refused: there are " + std::to_string(clients()) +
             " already (see --max-clients and --clients-per-peer)");
  }
}

void Hub::publish(const Total& total) {
  sequence_ = total.sequence;
  ++statistics_.changes;
  total_line_ =
      (total.known ? base::count_line(sequence_, total.counts.running, total.counts.busy, total.pressure)
                   : base::unknown_line(sequence_)) +
      '\n';
  alive_line_ = base::alive_line(sequence_) + '\n';
  for (Round& round : rounds_) {
    for (auto each = round.begin(); each != round.end();) {
      const std::shared_ptr<Client> client = *each++;  // send_pending() may remove it from the list
      client->send_pending();
    }
  }
}

void Hub::send_heartbeat() {
  Round& round = rounds_[next_heartbeat_round_];
  next_heartbeat_round_ = (next_heartbeat_round_ + 1) % kRounds;
  const TimePoint time = now();
  for (auto each = round.begin(); each != round.end();) {
    const std::shared_ptr<Client> client = *each++;
    client->send_heartbeat(time, options_.patience);
  }
}

void Hub::drop(Client& client, DropReason why) {
  const auto kept = client.shared_from_this();
  rounds_[client.place.round].erase(client.place.at);
  shares_.remove(client.id);
  by_id_.erase(client.id);
  const std::string_view last = why == DropReason::long_line   ? "the line is too long"
                                : why == DropReason::displaced ? kFull
                                                               : std::string_view();
  client.disconnect(last.empty() ? std::string() : base::bye_line(last) + '\n');
  if (why == DropReason::left) return;
  ++(why == DropReason::slow        ? statistics_.slow
     : why == DropReason::displaced ? statistics_.displaced
                                    : statistics_.long_lines);
  if (const auto times = drop_log_limit_.record(now())) {
    log_line(
        std::to_string(*times) +
        " clients dropped that accepted no data, sent lines that are too long, or were many of one peer");
  }
}

void Hub::stop() {
  const std::string bye = base::bye_line("stopping") + '\n';
  for (Round& round : rounds_) {
    for (const auto& client : round) {
      shares_.remove(client->id);
      client->disconnect(bye);
    }
    round.clear();
  }
  by_id_.clear();
}

}  // namespace cleave::monitor
