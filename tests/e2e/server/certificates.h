// A folder of a test's own, and certificates in it, by the command openssl.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace cleave::remote {

class WithCertificates : public testing::Test {
 protected:
  WithCertificates() {
    char made[] = "/tmp/cleave-transport-test.XXXXXX";
    folder_ = ::mkdtemp(made);
  }
  ~WithCertificates() override { run("rm -r " + folder_); }

  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

  // An authority, NAME.pem.
  void make_authority(const std::string& name) const {
    run("cd " + folder_ +
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".pem 2>/dev/null");
  }
  // A certificate by the authority, for this address.
  void make_certificate(const std::string& name, const std::string& authority) const {
    run("cd " + folder_ +
        " && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
        name + ".key -out " + name + ".csr 2>/dev/null && printf 'subjectAltName=IP:127.0.0.1' > " + name +
        ".ext && openssl x509 -req -in " + name + ".csr -CA " + authority + ".pem -CAkey " + authority +
        ".key -CAcreateserial" + " -days 2 -extfile " + name + ".ext -out " + name + ".pem 2>/dev/null");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

}  // namespace cleave::remote
