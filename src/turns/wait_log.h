// For which others a participant waits: the cause of a wait is whichever participant is charged for the device
// meanwhile. So the device time that each of the others has when a wait ends, less what it had when the wait began, is
// its part of that wait, except while the participant's own cap held it back; the rest is for the device's change from
// one process to another.
//
//   entry = log.follow(state, slot, standing, now);    // in each step over the shared state; may be repeated
//   log.note(entry);                                   // when the step has been written
//
// Not thread-safe. Nothing throws but causes(), for want of memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "turns/protocol.h"

namespace cleave::turns {

struct WaitCause {
  std::string tenant;     // empty: none
  std::uint32_t pid = 0;  // 0: of several processes
  Ns waited = 0;
};

struct WaitCauses {
  Ns waited = 0;  // in total
  Ns capped = 0;  // for the own cap
  std::vector<WaitCause> others;
};

class WaitLog {
 public:
  // The most causes that are distinguished; all others are counted as one without a name.
  static constexpr std::size_t kMaxCauses = 32;

  struct Part {
    std::array<char, kTenantBytes> tenant{};
    std::uint64_t group = 0;  // the tenant's; 0: none
    std::uint32_t pid = 0;
    Ns waited = 0;
  };
  struct Parts {
    std::array<Part, kMaxCauses> all{};
    std::size_t count = 0;
    void add(const Part& part);
  };

  // After the participant's step. Counts what it has waited for the others as imposed by them.
  void follow(View state, std::uint32_t slot, Standing standing, Ns now);
  // That step has been stored: what follow() has found out counts.
  void note();

  [[nodiscard]] WaitCauses causes() const;

 private:
  // What the latest step has found out.
  struct Entry {
    enum class What : std::uint8_t { nothing, begins, ends, stops };
    What what = What::nothing;
    Ns at = 0;
    Ns capped = 0;                                         // so far, of the participant
    Parts parts;                                           // of a wait that ends
    std::array<std::uint64_t, kMaxParticipants> nonces{};  // when one begins
    std::array<std::uint64_t, kMaxParticipants> used{};
  };

  Entry found_;
  bool waits_ = false;
  Ns since_ = 0;
  Ns capped_since_ = 0;
  std::array<std::uint64_t, kMaxParticipants> nonces_{};
  std::array<std::uint64_t, kMaxParticipants> used_{};
  Ns waited_ = 0;
  Ns capped_ = 0;
  Parts parts_;
};

}  // namespace cleave::turns
