// The client's one state object: its objects, the servers and what they offer.
//
// Thread-safe: what is not said to be otherwise is written by begin(), before a program has a handle.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/settings.h"
#include "objects/objects.h"
#include "remote/client/link/connection.h"
#include "remote/client/link/servers.h"
#include "remote/client/objects/callback_queue.h"
#include "remote/client/objects/object_state.h"
#include "remote/client/objects/svm_blocks.h"

namespace cleave::remote::client {

struct Client {
  std::recursive_mutex mutex;  // around begin() alone
  bool started = false;
  // A face offers our platforms, not a loader that knows cl_khr_icd 2: set before begin().
  bool plain_table = false;
  objects::Objects objects;
  CallbackQueue callbacks;
  // For what several servers have to do with each other (spread/). The relays never wait for anything but a
  // socket; the movers wait for data.
  CallbackQueue internal_callbacks;
  CallbackQueue migration_worker;
  SvmBlocks svm;
  Table table{};
  base::RemoteSettings settings;
  Servers servers;
  Object* platform = nullptr;  // null: there is nothing to offer
  std::map<cl_uint, std::string> platform_texts;
  std::vector<cl_name_version> platform_extensions;
  cl_version platform_version = 0;
  cl_ulong timer_resolution = 0;
  std::vector<Object*> devices;  // those that are not sub-devices
};

// Never destroyed: programs call OpenCL from exit handlers, too.
union NoDestructor {
  Client value;
  NoDestructor() : value() {}
  NoDestructor(const NoDestructor&) = delete;
  NoDestructor& operator=(const NoDestructor&) = delete;
  ~NoDestructor() {}
};
extern NoDestructor state;
inline Client& client = state.value;

// Reads the settings and meets the servers, once; later calls only wait for that. Never throws.
void begin() noexcept;

// Around fork(). Of the parent's objects the child has its devices alone; all others are invalid there, and
// releasing them does nothing (objects/objects.h: disown).
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// At the process's end.
void flush_all() noexcept;

// What the functions of OpenCL are: no entry is null.
Table make_table();

// The object behind a handle, or null.
template <objects::OpenClHandle Handle>
Object* find(Handle handle) {
  return client.objects.find(handle);
}

// An object of `kind` below `parent`, published with the body that make() gives; null where there is no
// memory.
template <typename B, typename... Arguments>
std::pair<Object*, B*> prepare(Object& parent, Connection& connection, Id id) {
  Object* const object = client.objects.prepare(B::kKind, parent);
  if (object == nullptr) return {nullptr, nullptr};
  auto* const state = new (std::nothrow) B(connection, id);
  if (state == nullptr) return client.objects.discard(*object), std::pair<Object*, B*>{nullptr, nullptr};
  return {object, state};
}

// A text of somebody else's for a line of ours: no control characters, not too long.
std::string printable(std::string text);

}  // namespace cleave::remote::client
