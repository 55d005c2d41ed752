#include "monitor/hypervisor/libvirt.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

namespace cleave::monitor {
namespace {

constexpr int kNever = -1;
constexpr int kAtOnce = 0;

// Replaces the default handler, which prints to standard error: the watcher logs errors itself.
void ignore_error(void* /*data*/, virErrorPtr /*error*/) {}

void ignore_timer(int /*timer*/, void* /*data*/) {}

}  // namespace

LibvirtEventLoop::LibvirtEventLoop() {
  if (virInitialize() < 0) throw HypervisorError("libvirt cannot be initialised");
  virSetErrorFunc(nullptr, ignore_error);
  if (virEventRegisterDefaultImpl() < 0) throw HypervisorError(virGetLastErrorMessage());
  wake_up_ = virEventAddTimeout(kNever, ignore_timer, nullptr, nullptr);
  if (wake_up_ < 0) throw HypervisorError(virGetLastErrorMessage());
  thread_ = std::thread([this] {
    while (!stopping_) virEventRunDefaultImpl();
  });
}

LibvirtEventLoop::~LibvirtEventLoop() {
  stopping_ = true;
  virEventUpdateTimeout(wake_up_, kAtOnce);
  thread_.join();
  virEventRemoveTimeout(wake_up_);
}

}  // namespace cleave::monitor
