#include "interpose/broker/figures_page.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

namespace cleave::interpose {
namespace {

using Page = neighbours::RegistryEntry::Page;

Page* map(int file) {
  void* const page = mmap(nullptr, CLEAVE_REGISTRY_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return page != MAP_FAILED ? static_cast<Page*>(page) : nullptr;
}

union ControlData {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

}  // namespace

FiguresPage::FiguresPage() : file_(memfd_create("cleave-figures", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  // Without the seals, the other process could truncate it, and an access here would raise SIGBUS.
  if (file_.is_open() && ftruncate(file_.get(), CLEAVE_REGISTRY_FILE_SIZE) == 0 &&
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    page_ = map(file_.get());
  if (page_ == nullptr) file_.close();
}

FiguresPage::~FiguresPage() {
  if (page_ != nullptr) munmap(page_, CLEAVE_REGISTRY_FILE_SIZE);
}

bool FiguresPage::send(int channel) const {
  char byte = 'f';
  iovec bytes{&byte, 1};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  ControlData control{};
  if (file_.is_open()) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int file = file_.get();
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  return sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
}

Page* FiguresPage::receive(int channel) {
  char byte = 0;
  iovec bytes{&byte, 1};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  ControlData control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1) return nullptr;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return nullptr;
  int number = -1;
  std::memcpy(&number, CMSG_DATA(header), sizeof number);
  const base::FileDescriptor file(number);
  return map(file.get());
}

void FiguresPage::copy_to(neighbours::RegistryEntry& entry,
                          const std::function<bool(std::uint64_t)>& known) const {
  if (page_ == nullptr ||
      std::atomic_ref(page_->entry.magic).load(std::memory_order_acquire) != CLEAVE_REGISTRY_MAGIC)
    return;
  for (std::uint64_t& each : page_->entry.devices) {
    const std::uint64_t device = std::atomic_ref(each).load(std::memory_order_relaxed);
    if (device != 0 && known(device)) entry.add_device(device);
  }
  entry.publish();
  entry.take_figures(page_->entry);
}

void FiguresPage::put_peers(std::uint32_t count) {
  if (page_ == nullptr) return;
  std::atomic_ref(page_->peers).store(std::uint64_t{++counts_} << 32U | count, std::memory_order_relaxed);
}

}  // namespace cleave::interpose
