// In which order commands are decided on: what is moved for them, and where the newest contents are then.
//
// A command is settled when all that it waits for has been decided on: then whatever is to run before it has
// been, since what is enqueued later can come before it only by way of a user event that is not set yet. So
// most commands are settled as they are enqueued. One that waits for a user event, in its wait list or behind
// another such command, is open: it goes to its server at once, with a gate in its wait list, and is decided
// on when the program has set the event.
//
// Markers and barriers are taken to wait for all before them on their queue, also where they have a wait
// list: some drivers do. What is enqueued behind one must not be decided on before what that waits for, or
// each would wait for the other. Where a driver does not, what waits for one is decided on when it has ended.
//
// What is behind an open command on its queue does not run before that where a queue is in order, or the
// driver lets nothing overtake (overtaking.h): so that is open, too, or what is decided on later may be made
// to wait for what cannot run before it.
//
// Thread-safe. The lock is held for moments only, never while something is sent.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "remote/client/spread/contents.h"

namespace cleave::remote::client::spread {

// An object that stays until this ends.
class Held {
 public:
  explicit Held(Object& object) : object_(&object) { client.objects.hold(object); }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&&) = delete;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_ != nullptr) client.objects.drop(*object_);
  }
  [[nodiscard]] Object& operator*() const { return *object_; }

 private:
  Object* object_;
};

// The same for a memory object that may be known by its handle alone.
class HeldMemory {
 public:
  explicit HeldMemory(cl_mem memory)
      : memory_(memory != nullptr && client::clRetainMemObject(memory) == CL_SUCCESS ? memory : nullptr) {}
  HeldMemory(HeldMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  HeldMemory& operator=(HeldMemory&&) = delete;
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() {
    if (memory_ != nullptr) client::clReleaseMemObject(memory_);
  }
  [[nodiscard]] const Object* object() const { return memory_ == nullptr ? nullptr : find(memory_); }

 private:
  cl_mem memory_;
};

// What has to be known of a command to decide on it.
struct Entry {
  enum class Kind : std::uint8_t { command, marker, barrier };
  struct Used {
    std::shared_ptr<Contents> contents;
    Access access;
  };

  explicit Entry(Object& the_queue) : queue(the_queue) {}

  Held queue;
  bool in_order = true;
  std::size_t part = 0;
  Kind kind = Kind::command;
  std::vector<Held> waits;
  std::vector<Used> uses;
  std::shared_ptr<Step> step = std::make_shared<Step>();
  // Of an open one that uses something: its gate, and all copies, which the program may have let go of when
  // it is decided on.
  std::shared_ptr<Gate> gate;
  std::vector<HeldMemory> copies;
};

class Ordering {
 public:
  // Whether a part's server is there.
  using IsThere = std::function<bool(std::size_t part)>;

  Ordering(std::vector<cl_command_queue> transfers, IsThere is_there)
      : transfers_(std::move(transfers)), is_there_(std::move(is_there)) {}
  Ordering(const Ordering&) = delete;
  Ordering& operator=(const Ordering&) = delete;
  ~Ordering();

  enum class Now : std::uint8_t { settled, open, lost };
  // Decides on the command if it is settled, or keeps it for later with a gate. Lost: contents that it needs
  // have gone with their server.
  Now take(const std::shared_ptr<Entry>& entry, Needs& needs);

  // It was not enqueued.
  void take_back(const std::shared_ptr<Entry>& entry);

  // The program has set a user event, or an open command has failed, or an open marker or barrier has ended:
  // decides on what is settled now, in the order in which it was enqueued.
  struct Settled {
    std::shared_ptr<Entry> entry;
    Needs needs;
    bool is_lost;
  };
  std::vector<Settled> settle();
  // And begins it.
  void reconsider();

  std::mutex& mutex() { return mutex_; }
  // The queue for moves to and from a part's server; null: it had gone.
  [[nodiscard]] cl_command_queue transfers(std::size_t part) const { return transfers_[part]; }
  [[nodiscard]] bool is_there(std::size_t part) const { return is_there_(part); }

 private:
  using Open = std::list<std::shared_ptr<Entry>>;

  [[nodiscard]] bool is_settled(const Entry& entry, Open::const_iterator end) const;
  static bool decide(Entry& entry, Needs& needs);

  std::mutex mutex_;
  const std::vector<cl_command_queue> transfers_;
  const IsThere is_there_;
  Open open_;  // in the order in which they were enqueued
};

// Begins what was decided on. What the gate is to wait for, it waits for from here on.
void go(const Needs& needs, Gate* gate);

// Waits until the event has ended; CL_SUCCESS or its error.
cl_int wait_for_end(cl_event event);

}  // namespace cleave::remote::client::spread
