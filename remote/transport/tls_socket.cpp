#include "remote/transport/tls_socket.h"

#include <cstddef>
#include <memory>
#include <new>

#include <sys/socket.h>

namespace cleave::remote {
namespace {

int socket_of(BIO* bio) { return *static_cast<const int*>(BIO_get_data(bio)); }

// The result as OpenSSL wants it: 1 if something was transferred, else 0, with a flag if it is worth trying again.
int outcome(BIO* bio, ssize_t transferred, int retry_flag, std::size_t* size) {
  BIO_clear_retry_flags(bio);
  *size = transferred > 0 ? static_cast<std::size_t>(transferred) : 0;
  if (transferred > 0) return 1;
  if (transferred == 0) {
    if (retry_flag == BIO_FLAGS_READ) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  } else if (BIO_sock_should_retry(static_cast<int>(transferred)) != 0) {
    BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
  }
  return 0;
}

int write(BIO* bio, const char* data, std::size_t length, std::size_t* size) {
  return outcome(bio, ::send(socket_of(bio), data, length, MSG_NOSIGNAL), BIO_FLAGS_WRITE, size);
}

int read(BIO* bio, char* into, std::size_t length, std::size_t* size) {
  return outcome(bio, ::recv(socket_of(bio), into, length, 0), BIO_FLAGS_READ, size);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int destroy(BIO* bio) {
  delete static_cast<int*>(BIO_get_data(bio));
  BIO_set_data(bio, nullptr);
  return 1;
}

BIO_METHOD* make_method() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
  if (method == nullptr) return nullptr;
  BIO_meth_set_write_ex(method, write);
  BIO_meth_set_read_ex(method, read);
  BIO_meth_set_ctrl(method, control);
  BIO_meth_set_destroy(method, destroy);
  return method;
}

}  // namespace

BIO* make_socket_bio(int socket) {
  // Never freed: streams may be used until the process ends.
  static const BIO_METHOD* const method = make_method();
  std::unique_ptr<int> kept(new (std::nothrow) int(socket));
  BIO* const bio = method != nullptr && kept ? BIO_new(method) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, kept.release());
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace cleave::remote
