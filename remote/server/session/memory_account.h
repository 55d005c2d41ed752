// The bytes of all memory objects and SVM allocations of one client, held against its limit.
//
// Thread-safe: drivers call destructors of memory objects from threads of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/opencl.h"

namespace cleave::remote::server {

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
