// A folder for each test, and certificates in it, made by the command openssl.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::remote {

class CertificateTest : public testing::Test {
 protected:
  // In the folder.
  void run(const std::string& command) const {
    ASSERT_EQ(std::system(("cd " + folder_.path() + " && " + command).c_str()), 0) << command;
  }

  // An authority, NAME.pem.
  void make_authority(const std::string& name) const {
    run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name +
        " -keyout " + name + ".key -out " + name + ".pem 2>/dev/null");
  }
  // A certificate by the authority, for this address.
  void make_certificate(const std::string& name, const std::string& authority) const {
    run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name + " -keyout " +
        name + ".key -out " + name + ".csr 2>/dev/null && printf 'subjectAltName=IP:127.0.0.1' > " + name +
        ".ext && openssl x509 -req -in " + name + ".csr -CA " + authority + ".pem -CAkey " + authority +
        ".key -CAcreateserial" + " -days 2 -extfile " + name + ".ext -out " + name + ".pem 2>/dev/null");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }

 private:
  const kit::TemporaryFolder folder_;
};

}  // namespace cleave::remote
