// The file in which the participants of one device keep their state: FOLDER/turns-HASH, where the hash is that of the
// device's identity and the file's version, so that files of other versions of Cleave do not interfere. Processes of
// all users and containers that share the folder share the file.
//
// The file is not trusted. It is read and written with pread() and pwrite(), and what is read is made sane; it is mapped too, but
// only the kernel uses the mapping, as the address of futexes. So a file that another process has truncated, where an access
// to the mapping would end this process, is an error of a call here.
//
// Atomic steps: a step takes a lock on a byte of the file, which the kernel releases however a process ends. A process
// that holds it for too long is assumed to be stopped; then the next lock byte is used, and the stopped process
// discards its own late write. Each participant holds a lock on the byte of its slot for its lifetime, which shows the
// others that it lives; unlike a process id this means the same in every container.
//
// A step waits at most 100 ms for locks, whatever holds them and whatever the file contains: after that the file counts
// as unusable, for this process and permanently. Nothing else here waits, but wait_for_wake() and wait_for_members().
//
// Thread-safe but for update(), look() and claim_slot(), which are for one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/files/verified_descriptor.h"
#include "turns/protocol.h"

namespace cleave::turns {

inline constexpr std::uint32_t kFileMagic = 0x746c7663;  // "cvlt"
inline constexpr std::uint32_t kFileVersion = 7;

// A copy of the state, with room for all.
struct State {
  Header header;
  std::array<Participant, kMaxParticipants> participants;
  std::array<TenantTotals, kMaxTenants> totals;
  View view() { return {header, participants, totals}; }
};

[[nodiscard]] Ns monotonic_now();

class SharedFile final : public Liveness {
 public:
  // Where the bytes for locks are, far behind the end of the file: those of steps, and one for each slot.
  static constexpr std::int64_t kLocks = 1 << 20;
  static constexpr std::int64_t kSlotLocks = 1 << 21;
  static constexpr std::size_t kSize =
      sizeof(Header) + kMaxParticipants * sizeof(Participant) + kMaxTenants * sizeof(TenantTotals);
  static constexpr std::size_t kTotals = sizeof(Header) + kMaxParticipants * sizeof(Participant);

  // Opens the file, or creates it and the folder. If that is not possible, null, and `problem` says why in one line. A
  // new file is writable for the users who may write to the folder.
  static std::shared_ptr<SharedFile> open(const std::string& folder, const std::string& identity,
                                          std::string& problem);
  static std::string name_for(const std::string& identity);
  // The same by the file's name, which must exist.
  static std::shared_ptr<SharedFile> open_file(const std::string& folder, const std::string& name,
                                               std::string& problem);
  ~SharedFile() override;

  // A slot that no living process uses, which is now this one's. kNobody if there is none.
  [[nodiscard]] std::uint32_t claim_slot();
  // Others may take this process for dead from now on.
  void release_slot() const;

  // In a step.
  [[nodiscard]] bool is_alive(std::uint32_t slot) const override;

  // Calls step(view, now) on the state and stores what it has changed, as one atomic step; then wakes whom it says.
  // False: the file cannot be used any more, for the reason in problem().
  template <typename Step>
  bool update(Step step) {
    for (int late = 0; late < kMostLateSteps && begin_update(); ++late) {
      step(after_.view(), now_);
      if (commit()) return true;
    }
    return fail("its locks are slow");
  }

  // A copy of the state, sane but perhaps of different moments.
  [[nodiscard]] bool read(State& state) const;
  // The same in memory of this object's, until the next step, as some threads have little: null if it cannot be read. For one thread at
  // a time, as update().
  [[nodiscard]] State* look() { return read(after_) ? &after_ : nullptr; }
  // The holder's heartbeat, without a lock.
  void show_life(Ns now) const;

  // Waits until the number `value` of the slot's futex (or of the members') has changed, or the time has come. False if waiting
  // is not possible.
  [[nodiscard]] bool wait_for_wake(std::uint32_t slot, std::uint32_t value, Ns until) const;
  [[nodiscard]] bool wait_for_members(std::uint32_t value) const;

  [[nodiscard]] const std::string& problem() const { return problem_; }
  // Whether that is that the program has closed the descriptor.
  [[nodiscard]] bool was_closed() const { return file_.get() < 0; }

  // In the child of a fork: gives up the copy, which would keep the parent's locks. Nothing else may be called then.
  void forget();

 private:
  // A step that took too long is made again so often: one that is late for want of a processor once is not late each time.
  static constexpr int kMostLateSteps = 4;

  explicit SharedFile(int fd) { file_.open(fd); }
  static std::shared_ptr<SharedFile> adopt(int fd, const std::string& path, std::string& problem);
  bool map();
  bool begin_update();
  bool commit();
  // Waits no longer than `patience`, and takes from it what it has waited.
  bool lock(std::uint32_t number, Ns& patience) const;
  void unlock() const;
  bool pass_broken_lock(Ns& patience);
  bool read_state(State& state, Ns now) const;
  void wake(std::size_t offset) const;
  bool wait(std::size_t offset, std::uint32_t value, const Ns* until) const;
  bool fail(const char* why);
  bool fill() const;

  base::VerifiedDescriptor file_;
  void* futexes_ = nullptr;  // never dereferenced
  std::uint32_t own_slot_ = kNobody;
  State before_;
  State after_;
  Ns now_ = 0;
  mutable Ns looked_for_ = 0;  // in this step, for liveness checks
  std::string problem_;
};

}  // namespace cleave::turns
