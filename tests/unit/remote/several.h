// For tests of what is decided for contexts over several servers: commands that are decided on but go
// nowhere. They are sent, end and fail when the test says so.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "remote/client/spread/contents.h"
#include "remote/client/spread/moves.h"
#include "remote/client/spread/ordering.h"

namespace cleave::remote::client::spread {

class Several : public testing::Test {
 protected:
  static constexpr cl_int kFailed = -5;

  // A command: what has been decided, and the event that it ends with once it is sent.
  struct Issued {
    std::shared_ptr<Entry> entry;
    Ordering::Now now = Ordering::Now::lost;
    Needs needs;
    Object* event = nullptr;

    [[nodiscard]] const std::shared_ptr<Step>& step() const { return entry->step; }
    [[nodiscard]] bool is_open() const { return now == Ordering::Now::open; }
    [[nodiscard]] bool is_lost() const { return now == Ordering::Now::lost; }
    // The one move that it needs, or null.
    [[nodiscard]] const Move* move() const { return needs.moves.empty() ? nullptr : needs.moves[0].get(); }
  };
  using Uses = std::vector<Entry::Used>;

  Several();
  ~Several() override;

  // Of both servers, with copies on each.
  std::shared_ptr<Contents> make_contents();
  Object& make_queue();
  Object& make_user_event() { return make_event(nullptr); }

  // A command on a part's server, on `queue`, and not sent yet.
  Issued decide(std::size_t part, Object& queue, const Uses& uses, const std::vector<Object*>& waits = {},
                bool in_order = true, Entry::Kind kind = Entry::Kind::command);
  void send(Issued& issued);
  // Decided on and sent, on a queue of its own.
  Issued issue(std::size_t part, const Uses& uses);
  static void end(const Issued& issued, cl_int status = CL_COMPLETE) { set(*issued.event, status); }
  static void set(Object& event, cl_int status) { body_of<EventBody>(event).status.store(status); }

  // As if it had been made, well or not.
  static void carry_out(const Move& move, cl_int status = CL_COMPLETE);

  std::array<bool, 2> there_{true, true};
  std::shared_ptr<Ordering> ordering_;

 private:
  Object& make(Kind kind, std::unique_ptr<Body> body);
  Object& make_event(Object* queue);

  Object* root_ = nullptr;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::vector<Object*> user_events_;
};

inline bool has(const std::vector<std::shared_ptr<Step>>& steps, const std::shared_ptr<Step>& step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

}  // namespace cleave::remote::client::spread
