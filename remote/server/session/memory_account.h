// The bytes of all that one client has the server keep, held against its limit: memory objects, SVM allocations, and what
// programs and kernels are made of.
//
// Thread-safe: drivers call destructors of memory objects from threads of their own, and builds end on others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/opencl.h"

namespace cleave::remote::server {

// Bytes that are counted as long as this lives, which may be longer than the account.
class MemoryHold {
 public:
  MemoryHold(std::shared_ptr<std::atomic<std::uint64_t>> used, std::uint64_t size)
      : used_(std::move(used)), size_(size) {}
  MemoryHold(const MemoryHold&) = delete;
  MemoryHold& operator=(const MemoryHold&) = delete;
  ~MemoryHold() { used_->fetch_sub(size_); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  const std::shared_ptr<std::atomic<std::uint64_t>> used_;
  const std::uint64_t size_;
};

class MemoryAccount {
 public:
  explicit MemoryAccount(std::uint64_t limit) : limit_(limit) {}

  // CL_MEM_OBJECT_ALLOCATION_FAILURE if the limit would be exceeded; then nothing has been reserved.
  [[nodiscard]] cl_int reserve(std::uint64_t size) {
    if (size <= limit_ && used_->fetch_add(size) <= limit_ - size) return CL_SUCCESS;
    if (size <= limit_) used_->fetch_sub(size);
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  void release(std::uint64_t size) { used_->fetch_sub(size); }

  // Reserved until the last copy of the pointer is gone. Null: the limit would be exceeded. May throw std::bad_alloc.
  [[nodiscard]] std::shared_ptr<MemoryHold> hold(std::uint64_t size) {
    if (reserve(size) != CL_SUCCESS) return nullptr;
    return std::make_shared<MemoryHold>(used_, size);
  }

  // After creating a memory object for which `size` has been reserved: releases it at once if that failed, else when
  // the driver destroys the object, which may be after this account is gone.
  void settle(const Table& cl, cl_mem memory, cl_int error, std::uint64_t size) {
    if (error != CL_SUCCESS) return release(size);
    struct Reservation {
      std::shared_ptr<std::atomic<std::uint64_t>> used;
      std::uint64_t size;
      static void CL_CALLBACK release(cl_mem, void* data) {
        const std::unique_ptr<Reservation> reservation(static_cast<Reservation*>(data));
        reservation->used->fetch_sub(reservation->size);
      }
    };
    auto reservation = std::make_unique<Reservation>(Reservation{used_, size});
    if (cl.clSetMemObjectDestructorCallback(memory, &Reservation::release, reservation.get()) == CL_SUCCESS)
      static_cast<void>(reservation.release());
  }

 private:
  const std::uint64_t limit_;
  const std::shared_ptr<std::atomic<std::uint64_t>> used_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace cleave::remote::server
