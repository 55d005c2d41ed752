#include "monitor/hub.h"

#include <utility>

#include "base/monitor_line.h"

namespace cleave::monitor {

Hub::Hub(HubOptions options)
    : options_(std::move(options)),
      greeting_(base::greeting_line(static_cast<unsigned>(options_.heartbeat.count())) + '\n') {
  publish(Total{});
}

void Hub::admit(daemon::Stream stream) {
  if (clients_ >= options_.max_clients) return refuse(stream);
  const auto client = std::make_shared<Client>(std::move(stream), *this);
  Round& round = rounds_[next_client_round_];
  client->place = {next_client_round_, round.insert(round.end(), client)};
  next_client_round_ = (next_client_round_ + 1) % kRounds;
  ++clients_;
  ++statistics_.admitted;
  client->start();
}

void Hub::refuse(daemon::Stream& stream) {
  ++statistics_.refused;
  const std::string bye = base::bye_line("full") + '\n';
  daemon::ErrorCode ignored;
  stream.write_some(asio::buffer(bye), ignored);
  if (const auto times = refusal_log_limit_.record(now())) {
    log_line(std::to_string(*times) + " clients refused: there are " + std::to_string(clients_) +
             " already (see --max-clients)");
  }
}

void Hub::publish(const Total& total) {
  sequence_ = total.sequence;
  ++statistics_.changes;
  total_line_ = (total.known ? base::count_line(sequence_, total.counts.running, total.counts.busy)
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
  --clients_;
  client.disconnect(why == DropReason::long_line ? base::bye_line("the line is too long") + '\n' : "");
  if (why == DropReason::left) return;
  ++(why == DropReason::slow ? statistics_.slow : statistics_.long_lines);
  if (const auto times = drop_log_limit_.record(now())) {
    log_line(std::to_string(*times) +
             " clients dropped that accepted no data or sent lines that are too long");
  }
}

void Hub::stop() {
  const std::string bye = base::bye_line("stopping") + '\n';
  for (Round& round : rounds_) {
    for (const auto& client : round) client->disconnect(bye);
    round.clear();
  }
  clients_ = 0;
}

}  // namespace cleave::monitor
