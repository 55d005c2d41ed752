// The counters of a process that has a broker: a page of memory that both map. The process counts there as others do in the page of their
// entry in the registry, and the broker copies from it what an entry may hold. The broker puts there how many others it has counted.
//
// Thread-safe but for construction and destruction.
#pragma once

#include <cstdint>
#include <functional>

#include "base/files/file_descriptor.h"
#include "cleave/registry.h"
#include "neighbours/registry_entry.h"

namespace cleave::interpose {

class FiguresPage {
 public:
  // A new one, whose size cannot be changed. Without memory it has no descriptor.
  FiguresPage();
  FiguresPage(const FiguresPage&) = delete;
  FiguresPage& operator=(const FiguresPage&) = delete;
  ~FiguresPage();

  // Sends the page, or word that there is none. False: the channel has ended.
  [[nodiscard]] bool send(int channel) const;
  // What send() has sent, mapped for as long as the process lives; null: none.
  static neighbours::RegistryEntry::Page* receive(int channel);

  // Publishes the entry once the process has, with its figures. Of devices only those that are `known`.
  void copy_to(neighbours::RegistryEntry& entry, const std::function<bool(std::uint64_t)>& known) const;
  // How many share a device, this process included. For one thread.
  void put_peers(std::uint32_t count);

 private:
  base::FileDescriptor file_;
  neighbours::RegistryEntry::Page* page_ = nullptr;
  std::uint32_t counts_ = 0;
};

}  // namespace cleave::interpose
