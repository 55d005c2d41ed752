// What other threads do takes its time; a test waits until it is done, and fails only if it never is.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace cleave::monitor {

inline bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace cleave::monitor
