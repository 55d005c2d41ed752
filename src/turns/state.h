// What the participants of one device share: plain numbers, in an array of fixed size. The same bytes lie in the
// shared file (shared_file.h), where other processes write them, so every reader calls sanitize() on its copy first;
// after that a wrong number can make turns unfair but can do no other harm.
//
// Times are nanoseconds of the system's monotonic clock. Virtual times are nanoseconds of device time at the default
// weight, and wrap around: only differences of them mean anything.
//
// Thread-safe: pure functions over the caller's memory. Nothing throws but device_name() and tenant_name(), for want of memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace cleave::turns {

using Ns = std::int64_t;

inline constexpr unsigned kMaxParticipants = 128;
inline constexpr std::uint32_t kNobody = 0xffffffff;
inline constexpr std::uint32_t kDefaultWeight = 100;
inline constexpr std::uint32_t kMaxWeight = 10000;
inline constexpr std::uint16_t kWholeDevice = 1000;  // permille
inline constexpr std::size_t kTenantBytes = 64;

// The order of service (scheduler.h).
enum class Priority : std::uint8_t { high, normal, background, idle };
inline constexpr unsigned kPriorities = 4;

// One process on one device.
struct Participant {
  std::uint64_t nonce = 0;         // chosen by the process; 0: the slot is free
  std::uint64_t virtual_time = 0;  // the device time it has had, by its weight
  std::uint64_t deadline = 0;      // virtual: when the device time that it requests should have been served
  std::int64_t lag = 0;            // while it is idle: the virtual time that it was owed when it stopped
  std::uint64_t rested_at = 0;     // while it is idle: `fair_clock` when it stopped
  Ns request = 0;                  // how much device time it usually takes until it becomes idle
  Ns stretch = 0;                  // what it has had since its request began
  Ns asked_at = 0;                 // when its request began
  Ns waits_since = 0;              // 0: it does not wait
  Ns waited = 0;                   // for turns, in total
  Ns longest_wait = 0;             // since `waits_from`: for reports
  Ns longest_before = 0;           // in the period before that
  Ns waits_from = 0;               // when the present period of `longest_wait` began
  std::uint64_t used = 0;          // device time in total, ns: for reports
  std::uint64_t turns = 0;
  std::uint64_t tenant = 0;  // a hash of its name; 0: none
  Ns paid_at = 0;  // when the device time it has had, with its tenant's others, is paid off by its cap
  Ns capped = 0;   // of `waited`: for its cap
  Ns imposed = 0;  // how long others have waited while it held the device: for reports
  std::uint32_t weight = kDefaultWeight;
  std::uint32_t wakes = 0;  // a futex: changes when it should look again
  std::uint32_t pid = 0;    // as the process sees itself
  std::uint8_t priority = static_cast<std::uint8_t>(Priority::normal);
  std::uint8_t asks = 0;       // 1: it wants the device or holds it
  std::uint16_t cap = 0;       // of the device's time, permille; 0: none
  std::uint8_t borrows = 0;    // 1: its cap holds only while others want the device
  std::uint8_t throttled = 0;  // 1: not before `paid_at`
  std::uint8_t declares = 0;   // 1: it has declared an intent, so that all take turns while it is there
  std::uint8_t unused = 0;
  std::uint32_t idle =
      0;  // ns of `used`, at most, in which it did not use the device: taken off what it uses next
  std::array<char, kTenantBytes> tenant_name{};  // for reports; not always with a final NUL

  friend bool operator==(const Participant&, const Participant&) = default;
};
static_assert(sizeof(Participant) == 240);

// What the processes of a tenant that have left, or ended, have used. Processes without a tenant count as one tenant,
// with the id 0.
struct TenantTotals {
  std::uint64_t tenant = 0;
  std::uint64_t used = 0;  // device time, ns
  std::uint64_t turns = 0;
  Ns waited = 0;
  Ns capped = 0;
  Ns imposed = 0;
  std::uint64_t processes = 0;
  std::array<char, kTenantBytes> name{};

  friend bool operator==(const TenantTotals&, const TenantTotals&) = default;
};
static_assert(sizeof(TenantTotals) == 120);
// Further tenants are counted with those that have none.
inline constexpr unsigned kMaxTenants = 64;

struct Header {
  std::uint32_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t lock = 0;     // which of the file's lock bytes is in use
  std::uint32_t members = 0;  // a futex: changes when a participant joins, leaves, or declares an intent
  std::uint32_t slots = 0;    // entries from here on are free
  std::uint32_t holder = kNobody;
  std::uint32_t guard = kNobody;  // the requesting participant that watches the holder
  std::uint32_t tenants = 0;      // how many totals there are
  std::uint64_t turn = 0;         // counts turns
  Ns turn_began = 0;              // when the holder got the device
  Ns charged_until = 0;           // up to when the holder has been charged
  Ns pulse = 0;                   // the holder's last heartbeat
  Ns idle_until = 0;              // not 0: the holder has nothing to do, and keeps the device until then
  Ns guard_until = 0;             // when the guard looks again by itself
  std::uint64_t fair_clock =
      0;  // the entitlement of a participant of weight 100 that has requested the device all the time
  std::array<std::uint64_t, kPriorities> origin{};  // a virtual time near all those of a class
  std::array<Ns, kPriorities> owed{};  // device time, of a class's least share; negative: it owes
  std::array<char, 64> device{};       // its name, for reports; not always with a final NUL

  friend bool operator==(const Header&, const Header&) = default;
};
static_assert(sizeof(Header) == 216);

// A state that functions read and change.
struct View {
  Header& header;
  std::span<Participant> participants;  // as many as there may be
  std::span<TenantTotals> totals{};     // of the same file; empty: none are kept
};

// The longest time and the largest virtual distance that are believed. Sums over all participants of a distance times a
// weight do not overflow.
inline constexpr std::int64_t kMaxSpread = std::int64_t{1} << 42;

// The most device time of its least share that a class may be owed, and that it may owe (scheduler.h).
inline constexpr Ns kMostOwed = 20'000'000;
inline constexpr Ns kMostOwing = 1'000'000'000;

// The longest wait for a cap: debts beyond that are forgiven.
inline constexpr Ns kLongestPause = 60'000'000'000;

// Replaces impossible values by possible ones: indices beyond the array, unknown classes, weights of 0, times in the
// future, and virtual times too far from those of their class.
void sanitize(View state, Ns now);

[[nodiscard]] inline bool exists(const View& state, std::uint32_t slot) {
  return slot < state.participants.size() && state.participants[slot].nonce != 0;
}
[[nodiscard]] inline bool asks(const View& state, std::uint32_t slot) {
  return exists(state, slot) && state.participants[slot].asks != 0;
}

// Requires: neither time is negative. The sum saturates.
[[nodiscard]] inline Ns sum_of(Ns a, Ns b) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Ns>::max() / 2);
  return static_cast<Ns>(std::min(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b), kMost));
}

// Whether turns are taken: some participant has declared an intent.
[[nodiscard]] bool is_declared(const View& state);

// Adds what the participant has had to the totals of its tenant.
void add_to_totals(View state, const Participant& p);

// A wait of the participant for its turn has ended. The longest one is known for the last 10 to 20 s.
void note_wait(Participant& p, Ns waited, Ns now);
[[nodiscard]] Ns longest_recent_wait(const Participant& p, Ns now);

void set_tenant(Participant& p, std::string_view name);
[[nodiscard]] std::string tenant_name(const Participant& p);
[[nodiscard]] std::string tenant_name(const TenantTotals& totals);

// The device's name: what of it is printable, at most until its first NUL.
void set_device_name(Header& header, std::string_view name);
[[nodiscard]] std::string device_name(const Header& header);

// How far `time` is ahead of `origin`.
[[nodiscard]] inline std::int64_t distance(std::uint64_t origin, std::uint64_t time) {
  return static_cast<std::int64_t>(time - origin);
}

}  // namespace cleave::turns
