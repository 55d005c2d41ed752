#include "base/files/regular_file.h"

#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/files/file_descriptor.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::base {
namespace {

class RegularFile : public testing::Test {
 protected:
  kit::TemporaryFolder folder;
};

TEST_F(RegularFile, IsReadWhole) {
  for (const std::string& text : {std::string(), std::string("token\n"), std::string(10'000, 'x')}) {
    const FileText read = read_regular_file(folder.write("file", text), 10'000);
    EXPECT_EQ(read.text, text);
    EXPECT_TRUE(read.exists);
    EXPECT_EQ(read.problem, "");
  }
}

TEST_F(RegularFile, MayBeOneOfTheKernels) {
  const FileText read = read_regular_file("/proc/self/maps", 1 << 20);
  ASSERT_TRUE(read.text.has_value()) << read.problem;
  EXPECT_NE(read.text->find("[stack]"), std::string::npos);
}

TEST_F(RegularFile, IsBounded) {
  const FileText read = read_regular_file(folder.write("file", std::string(2049, 'x')), 2048);
  EXPECT_FALSE(read.text.has_value());
  EXPECT_EQ(read.problem, "is larger than 2 KiB");
  EXPECT_EQ(read_regular_file("/proc/self/maps", 64).problem, "is larger than 0 KiB");
}

TEST_F(RegularFile, NothingElseIsOpened) {
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.file("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto problem = [](const std::string& path) {
    const FileText read = read_regular_file(path, 100);
    EXPECT_TRUE(read.exists) << path;
    EXPECT_EQ(read.problem, irregularity_of(path, 100));
    return read.problem;
  };
  EXPECT_EQ(problem(pipe), "is a pipe, not a regular file");
  EXPECT_EQ(problem("/dev/zero"), "is a device, not a regular file");
  EXPECT_EQ(problem("/"), "is a folder, not a regular file");
  EXPECT_EQ(problem(folder.file("socket")), "is a socket, not a regular file");
}

TEST_F(RegularFile, NullDeviceIsAnEmptyFile) {
  const FileText read = read_regular_file("/dev/null", 100);
  EXPECT_EQ(read.text, "");
  EXPECT_EQ(read.problem, "");
}

TEST_F(RegularFile, OneThatIsMissingIsSaidSo) {
  const FileText read = read_regular_file(folder.file("none"), 100);
  EXPECT_FALSE(read.exists);
  EXPECT_EQ(read.problem, "cannot be read: No such file or directory");
  EXPECT_EQ(irregularity_of(folder.file("none"), 100), "");
}

}  // namespace
}  // namespace cleave::base
