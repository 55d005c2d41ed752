#include "remote/server/staging.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace cleave::remote::server {
namespace {

std::size_t class_of(std::size_t room, std::size_t least) {
  return static_cast<std::size_t>(std::countr_zero(room / least));
}

}  // namespace

Block::~Block() {
  if (data_ != nullptr) staging_->give_back(data_, room_);
}

Staging::~Staging() {
  for (const auto& blocks : kept_) {
    for (std::byte* const block : blocks) std::free(block);
  }
}

Block Staging::take(std::size_t size) {
  if (size > most_) return {};
  const std::size_t room = std::bit_ceil(std::max(size, kLeast));
  const std::size_t which = class_of(room, kLeast);
  const std::size_t real = which < kClasses ? room : size;
  if (out_.fetch_add(real) + real > most_ + kLeast) {
    out_.fetch_sub(real);
    return {};
  }
  if (which < kClasses) {
    if (std::byte* const data = take_kept(which, real)) return {*this, data, size, real};
  }
  // Aligned as drivers like it for what they copy from and to.
  const std::size_t whole = (real + kLeast - 1) / kLeast * kLeast;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(kLeast, whole));
  if (data == nullptr) {
    out_.fetch_sub(real);
    return {};
  }
  return {*this, data, size, real};
}

// Null: there is none.
std::byte* Staging::take_kept(std::size_t which, std::size_t room) {
  const std::scoped_lock lock(mutex_);
  last_taken_ = std::chrono::steady_clock::now();
  if (kept_[which].empty()) return nullptr;
  std::byte* const data = kept_[which].back();
  kept_[which].pop_back();
  kept_bytes_ -= room;
  return data;
}

void Staging::trim(std::chrono::steady_clock::duration unused) {
  const std::scoped_lock lock(mutex_);
  if (kept_bytes_ <= kMostKeptUnused || std::chrono::steady_clock::now() - last_taken_ < unused) return;
  for (std::size_t which = kClasses; which-- > 0;) {
    auto& blocks = kept_[which];
    for (; !blocks.empty() && kept_bytes_ > kMostKeptUnused; blocks.pop_back()) {
      std::free(blocks.back());
      kept_bytes_ -= kLeast << which;
    }
  }
}

std::size_t Staging::kept() const {
  const std::scoped_lock lock(mutex_);
  return kept_bytes_;
}

void Staging::give_back(std::byte* data, std::size_t room) {
  out_.fetch_sub(room);
  const std::size_t which = std::has_single_bit(room) && room >= kLeast ? class_of(room, kLeast) : kClasses;
  if (which < kClasses) {
    const std::scoped_lock lock(mutex_);
    if (kept_bytes_ + room <= kMostKept) {
      kept_[which].push_back(data);
      kept_bytes_ += room;
      return;
    }
  }
  std::free(data);
}

}  // namespace cleave::remote::server
