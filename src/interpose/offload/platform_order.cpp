#include "interpose/offload/platform_order.h"

#include <algorithm>

#include "interpose/interposer.h"

namespace cleave::interpose {
namespace {

using Decide = bool (Offload::*)(const std::vector<ListedPlatform>&);

// By that decision, where there is one to be made.
void order_by(Decide decide, std::vector<ListedPlatform>& platforms) {
  if (!orders_platforms()) return;
  Offload* const offload = current_interposer()->offload.get();
  if (offload != nullptr && !(offload->*decide)(platforms)) return;
  std::stable_partition(platforms.begin(), platforms.end(), is_of_servers);
}

}  // namespace

bool orders_platforms() {
  const Interposer* const p = current_interposer();
  return p != nullptr && p->settings().remote.prefer != base::Prefer::local;
}

void order_platforms(std::vector<ListedPlatform>& platforms) {
  order_by(&Offload::lists_remote_first, platforms);
}

void order_platforms_anew(std::vector<ListedPlatform>& platforms) {
  order_by(&Offload::prefers_remote, platforms);
}

bool orders_devices() noexcept {
  const Interposer* const p = current_interposer();
  return p != nullptr && p->offload != nullptr;
}

void order_devices(std::vector<cl_device_id>& devices) {
  if (orders_devices()) interposer().offload->order_devices(devices);
}

}  // namespace cleave::interpose
