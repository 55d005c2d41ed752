// For tests of what is decided for contexts over several servers: commands that are decided on but go
// nowhere. They are sent, end and fail when the test decides.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "remote/client/multi_server/coherence.h"
#include "remote/client/multi_server/command_order.h"
#include "remote/client/multi_server/composite.h"
#include "remote/client/multi_server/migration.h"

namespace cleave::remote::client::multi_server {

class OrderingFixture : public testing::Test {
 protected:
  static constexpr cl_int kFailed = -5;

  // A command: what has been decided, and the event that it ends with once it is sent.
  struct TestCommand {
    std::shared_ptr<OrderedCommand> entry;
    CommandOrder::Decision now = CommandOrder::Decision::lost;
    Dependencies dependencies;
    Object* event = nullptr;

    [[nodiscard]] const std::shared_ptr<Operation>& operation() const { return entry->operation; }
    [[nodiscard]] bool is_decided() const { return now == CommandOrder::Decision::decided; }
    [[nodiscard]] bool is_deferred() const { return now == CommandOrder::Decision::deferred; }
    [[nodiscard]] bool is_lost() const { return now == CommandOrder::Decision::lost; }
    // The one move that it needs, or null.
    [[nodiscard]] const Migration* move() const {
      return dependencies.migrations.empty() ? nullptr : dependencies.migrations[0].get();
    }
  };
  using MemoryUses = std::vector<OrderedCommand::Used>;

  OrderingFixture();
  ~OrderingFixture() override;

  // Of both servers, with copies on each.
  std::shared_ptr<CoherenceState> make_coherence();
  Object& make_queue();
  Object& make_user_event() { return make_event(nullptr); }

  // A command on a part's server, on `queue`, and not sent yet.
  TestCommand decide(std::size_t shard, Object& queue, const MemoryUses& uses,
                     const std::vector<Object*>& waits = {}, bool in_order = true,
                     OrderedCommand::Kind kind = OrderedCommand::Kind::command);
  void send(TestCommand& issued);
  // The same, and sent.
  TestCommand enqueue(std::size_t shard, Object& queue, const MemoryUses& uses,
                      const std::vector<Object*>& waits = {}, bool in_order = true,
                      OrderedCommand::Kind kind = OrderedCommand::Kind::command) {
    TestCommand issued = decide(shard, queue, uses, waits, in_order, kind);
    send(issued);
    return issued;
  }
  // Decided on and sent, on a queue of its own.
  TestCommand issue(std::size_t shard, const MemoryUses& uses);
  static void end(const TestCommand& issued, cl_int status = CL_COMPLETE) { set(*issued.event, status); }
  static void set(Object& event, cl_int status) { state_of<EventState>(event).status.store(status); }

  // As if it had been made, well or not.
  static void carry_out(const Migration& move, cl_int status = CL_COMPLETE);

  std::array<bool, 2> connected_{true, true};
  std::shared_ptr<CommandOrder> order_;

 private:
  Object& make(Kind kind, std::unique_ptr<ObjectState> state);
  Object& make_event(Object* queue);

  Object* root_ = nullptr;
  std::vector<std::unique_ptr<ObjectState>> states_;
  std::vector<Object*> user_events_;
};

inline bool contains(const std::vector<std::shared_ptr<Operation>>& operations,
                     const std::shared_ptr<Operation>& operation) {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

}  // namespace cleave::remote::client::multi_server
