// OpenSSL's way to a socket. Its own writes with write(2), which raises SIGPIPE once the peer has reset the connection,
// and would end a program that has left that signal as it is.
#pragma once

#include <openssl/bio.h>

namespace cleave::remote {

// A BIO that sends and receives over a non-blocking stream socket, which stays the caller's and must outlive it. The caller
// owns the BIO. Null: out of memory. Any thread may make one; one thread at a time may use it.
BIO* make_socket_bio(int socket);

}  // namespace cleave::remote
