// Several threads that do the same at once.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace kit {

// Calls body(0) to body(count - 1), each on a thread of its own; returns when all have ended.
template <class Body>
void on_threads(std::size_t count, const Body& body) {
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
}

}  // namespace kit
