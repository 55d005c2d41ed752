// The connection of a peer on this machine that has not been authenticated. Such a peer may pass any descriptors with what it sends,
// and the kernel closes those that are not received in the receiver's context, where a socket that lingers blocks for as long as
// the peer has chosen. So bytes that come with descriptors are read without being taken from the socket, and no descriptor is
// ever received here: the process that serves the client does that (shared_memory.h).
#pragma once

#include <cstdint>
#include <memory>

#include "base/files/file_descriptor.h"
#include "remote/transport/stream.h"

namespace cleave::remote::server {

class UnknownPeer final : public Stream {
 public:
  // Of a connected unix socket.
  explicit UnknownPeer(base::FileDescriptor socket);
  // Does not wait for what the peer has sent (discard()).
  ~UnknownPeer() override;

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) override;
  bool write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) override;
  [[nodiscard]] bool has_data() override { return stream_->has_data(); }
  void shutdown() override { stream_->shutdown(); }
  [[nodiscard]] int descriptor() const override { return socket_.get(); }

  // How many of the bytes that have been read are still in the socket, since they came with descriptors. 0: no descriptors have come.
  [[nodiscard]] std::uint32_t left_in_socket() const { return left_; }
  // Before another process reads from the socket: it begins with the bytes that are left.
  void leave() const;

 private:
  base::FileDescriptor socket_;
  std::unique_ptr<Stream> stream_;  // of a second descriptor of the same socket
  std::uint32_t left_ = 0;
};

}  // namespace cleave::remote::server
