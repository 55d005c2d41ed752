#include "interpose/offload/platform_order.h"

#include <algorithm>

#include "interpose/interposer.h"

namespace cleave::interpose {

bool orders_platforms() {
  const Interposer* const p = current_interposer();
  return p != nullptr && p->settings().remote.prefer != base::Prefer::local;
}

void order_platforms(std::vector<ListedPlatform>& platforms) {
  if (!orders_platforms()) return;
  const Interposer* const p = current_interposer();
  if (p->offload != nullptr && !p->offload->prefers_remote(platforms)) return;
  std::stable_partition(platforms.begin(), platforms.end(), is_of_servers);
}

bool orders_devices() noexcept {
  const Interposer* const p = current_interposer();
  return p != nullptr && p->offload != nullptr;
}

void order_devices(std::vector<cl_device_id>& devices) {
  if (orders_devices()) interposer().offload->order_devices(devices);
}

}  // namespace cleave::interpose
