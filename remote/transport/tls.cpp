#include "remote/transport/tls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "base/files/own_descriptors.h"
#include "base/files/regular_file.h"
#include "base/threads/mutex.h"
#include "remote/protocol/limits.h"
#include "remote/transport/stream_socket.h"
#include "remote/transport/tls_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace cleave::remote {
namespace {

using std::chrono::steady_clock;

using ContextPointer = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using SslPointer = std::unique_ptr<SSL, decltype(&SSL_free)>;

constexpr std::size_t kMaxPemFile = 8 << 20;

// A refused peer has this time to read why.
constexpr std::chrono::seconds kRefusalDrainTime{1};

std::string last_openssl_error() {
  const unsigned long code = ERR_get_error();
  const char* const reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return reason != nullptr ? reason : "the peer ended the connection";
}

// What OpenSSL waits for, as poll(2) names it; 0: it cannot continue.
short wanted(const SSL& ssl, int result) {
  switch (SSL_get_error(&ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    default:
      return 0;
  }
}

class TlsStream final : public Stream {
 public:
  TlsStream(int socket, Process process, SslPointer ssl) : socket_(socket, process), ssl_(std::move(ssl)) {}

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) override {
    return work([&] { return SSL_read_ex(ssl_.get(), into.data(), into.size(), &size); },
                [&](short events) {
                  if (until == kNoWait) return false;
                  return events == POLLOUT ? wait_until_writable(descriptor(), until - steady_clock::now())
                                           : wait_for(descriptor(), events, until);
                });
  }

  bool write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) override {
    for (const iovec& part : parts) {
      std::span<const std::byte> left(static_cast<const std::byte*>(part.iov_base), part.iov_len);
      while (!left.empty()) {
        std::size_t size = 0;
        const auto some = [&] { return SSL_write_ex(ssl_.get(), left.data(), left.size(), &size); };
        // The timeout restarts for each wait: a record may need several, with progress in between.
        const auto wait = [&](short events) {
          return events == POLLOUT ? wait_until_writable(descriptor(), stall_timeout, while_blocked)
                                   : wait_for(descriptor(), events, steady_clock::now() + stall_timeout);
        };
        if (work(some, wait) != ReadStatus::data) return false;
        left = left.subspan(size);
      }
    }
    return true;
  }

  // A part of a record, or a record without data, does not count: a read would wait.
  bool has_data() override {
    if (!is_ours()) return true;
    const base::MutexLock lock(mutex_);
    std::byte byte{};
    std::size_t size = 0;
    ERR_clear_error();
    const int result = SSL_peek_ex(ssl_.get(), &byte, 1, &size);
    return result == 1 || wanted(result) == 0;
  }

  std::string close_reason() override {
    const base::MutexLock lock(mutex_);
    return close_reason_;
  }

  void shutdown() override { socket_.shutdown(); }
  [[nodiscard]] bool is_ours() override { return socket_.is_ours(); }
  void close() override { socket_.close(); }
  [[nodiscard]] int descriptor() const override { return socket_.get(); }

 private:
  template <typename Step, typename Wait>
  ReadStatus work(Step step, Wait wait) {
    while (true) {
      short events = 0;
      if (!is_ours()) return ReadStatus::closed;
      {
        const base::MutexLock lock(mutex_);
        ERR_clear_error();
        const int result = step();
        if (result == 1) return ReadStatus::data;
        events = wanted(result);
        if (events == 0) return ReadStatus::closed;
      }
      if (!wait(events)) return ReadStatus::timeout;
    }
  }

  // 0: the connection is closed.
  short wanted(int result) CLEAVE_REQUIRES(mutex_) {
    const short events = remote::wanted(*ssl_, result);
    if (events == 0 && close_reason_.empty() && ERR_peek_error() != 0)
      close_reason_ = "TLS: " + last_openssl_error();
    if (events == 0) ERR_clear_error();
    return events;
  }

  StreamSocket socket_;
  base::Mutex mutex_;
  SslPointer ssl_ CLEAVE_PT_GUARDED_BY(mutex_);
  std::string close_reason_ CLEAVE_GUARDED_BY(mutex_);
};

ContextPointer make_context(const SSL_METHOD* method, const TlsFiles& files, std::string& problem) {
  ContextPointer context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) {
    problem = last_openssl_error();
    return context;
  }
  SSL_CTX* const raw = context.get();
  // Forward secrecy: an attacker who obtains the key later cannot read earlier data. TLS 1.3 has nothing else.
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");
  // A key with a password cannot be used: a daemon cannot prompt for it.
  SSL_CTX_set_default_passwd_cb(raw, [](char*, int, int, void*) { return 0; });
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  const auto fail = [&](const std::string& file) {
    problem = file + " cannot be used (" + last_openssl_error() + ")";
    return ContextPointer(nullptr, SSL_CTX_free);
  };
  const base::HeldStandardNumbers held;
  // OpenSSL opens any path, and would wait forever for the writer of a pipe.
  const std::string& key_file = files.key.empty() ? files.certificate : files.key;
  for (const std::string& file : {files.certificate, key_file, files.authority}) {
    const std::string wrong = file.empty() ? "" : base::irregularity_of(file, kMaxPemFile);
    if (wrong.empty()) continue;
    problem = file;
    problem.append(" ").append(wrong).append(": name a PEM file");
    return {nullptr, SSL_CTX_free};
  }
  if (!files.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1)
      return fail(files.certificate);
    if (SSL_CTX_use_PrivateKey_file(raw, key_file.c_str(), SSL_FILETYPE_PEM) != 1) return fail(key_file);
  }
  const bool known = files.authority.empty() ? SSL_CTX_set_default_verify_paths(raw) == 1
                                             : SSL_CTX_load_verify_file(raw, files.authority.c_str()) == 1;
  return known ? std::move(context) : fail(files.authority);
}

// Requires the certificate to be for this host, by name or by address.
bool expect_host(SSL& ssl, const std::string& host) {
  in6_addr address{};
  const bool numeric =
      ::inet_pton(AF_INET, host.c_str(), &address) == 1 || ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
  if (numeric) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&ssl), host.c_str()) == 1;
  return SSL_set1_host(&ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(&ssl, host.c_str()) == 1;
}

std::string perform_handshake(SSL& ssl, int socket, Time until) {
  while (true) {
    ERR_clear_error();
    const int result = SSL_do_handshake(&ssl);
    if (result == 1) return {};
    const short events = wanted(ssl, result);
    if (events == 0) {
      const long verified = SSL_get_verify_result(&ssl);
      return verified != X509_V_OK ? std::string("TLS: ").append(X509_verify_cert_error_string(verified))
                                   : "TLS: " + last_openssl_error();
    }
    if (!wait_for(socket, events, until)) return "TLS: no answer in time";
  }
}

SslPointer make_connection_state(SSL_CTX& context, int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  SslPointer ssl(SSL_new(&context), SSL_free);
  BIO* const bio = ssl ? make_socket_bio(socket) : nullptr;
  if (bio == nullptr) return {nullptr, SSL_free};
  SSL_set_bio(ssl.get(), bio, bio);
  return ssl;
}

// Makes the handshake. If there is no stream, the socket stays the caller's.
ConnectResult finish(int socket, Process process, SslPointer ssl, Time until) {
  std::string problem = ssl ? perform_handshake(*ssl, socket, until) : "TLS: " + last_openssl_error();
  if (problem.empty()) return {std::make_unique<TlsStream>(socket, process, std::move(ssl)), {}};
  return {nullptr, std::move(problem)};
}

// A socket that is closed with unread data is reset, and the peer loses what it has not read: here, why it is refused. So
// its data is read and dropped for a moment, until it closes.
void drain_before_close(int socket, Time until) {
  ::shutdown(socket, SHUT_WR);
  until = std::min(until, steady_clock::now() + kRefusalDrainTime);
  std::array<std::byte, 1024> discarded;
  ssize_t got = 1;
  while (got != 0 && steady_clock::now() < until) {
    got = ::recv(socket, discarded.data(), discarded.size(), MSG_DONTWAIT);
    if (got < 0 && (errno != EAGAIN || !wait_for(socket, POLLIN, until))) return;
  }
}

std::string certificate_name(const SSL& ssl) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(&ssl), X509_free);
  if (!certificate) return {};
  // It may decide what the peer is granted: one that could be read in two ways is none.
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const int place = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (place < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, place) >= 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, place)));
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(
      text, [](unsigned char* each) { OPENSSL_free(each); });
  if (size <= 0 || static_cast<std::size_t>(size) > kMaxName) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  return name.find('\0') == std::string::npos ? name : "";
}

}  // namespace

ConnectResult connect_tls(int socket, const std::string& host, const TlsFiles& files, Time until) {
  std::string problem;
  const ContextPointer context = make_context(TLS_client_method(), files, problem);
  if (!context) {
    ::close(socket);
    return {nullptr, "TLS: " + problem};
  }
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SslPointer ssl = make_connection_state(*context, socket);
  if (ssl && !expect_host(*ssl, host)) ssl.reset();
  if (ssl) SSL_set_connect_state(ssl.get());
  ConnectResult connected = finish(socket, Process::anothers, std::move(ssl), until);
  if (!connected.stream) ::close(socket);
  return connected;
}

struct TlsServer::Context {
  explicit Context(ContextPointer made) : pointer(std::move(made)) {}
  ContextPointer pointer;
};

TlsServer::TlsServer(std::unique_ptr<Context> context) : context_(std::move(context)) {}
TlsServer::~TlsServer() = default;

std::unique_ptr<TlsServer> TlsServer::make(const TlsFiles& files, std::string& problem) {
  auto context = std::make_unique<Context>(make_context(TLS_server_method(), files, problem));
  SSL_CTX* const raw = context->pointer.get();
  if (raw == nullptr) return nullptr;
  if (!files.authority.empty()) {
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(files.authority.c_str()));
  }
  // Every connection has a process of its own, so no TLS session can be resumed.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  return std::unique_ptr<TlsServer>(new TlsServer(std::move(context)));
}

ConnectResult TlsServer::accept(int socket, Time until, std::string& peer) const {
  SslPointer ssl = make_connection_state(*context_->pointer, socket);
  SSL* const raw = ssl.get();
  if (raw != nullptr) SSL_set_accept_state(raw);
  ConnectResult connected = finish(socket, Process::ours, std::move(ssl), until);
  if (connected.stream && raw != nullptr) {
    peer = certificate_name(*raw);
  } else {
    drain_before_close(socket, until);
    ::close(socket);
  }
  return connected;
}

}  // namespace cleave::remote
