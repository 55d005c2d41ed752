#include "neighbours/file_source.h"

#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

TEST(FileSource, ParsesDigitsSurroundedBySpace) {
  EXPECT_EQ(read_count("5"), 5U);
  EXPECT_EQ(read_count(" \n 12\r\n"), 12U);
  EXPECT_EQ(read_count("0\n"), 1U);
  EXPECT_EQ(read_count("100000"), 100000U);
  for (const char* text : {"", "\n", "-1", "5 6", "5x", "100001", "0x5", "five", "99999999999999999999"}) {
    EXPECT_FALSE(read_count(text)) << text;
  }
}

class FileSourceFile : public testing::Test {
 protected:
  std::string path() const { return folder_.file("vms"); }
  void write(const std::string& text) const { folder_.write("vms", text); }

 private:
  const kit::TemporaryFolder folder_;
};

TEST_F(FileSourceFile, IsReadAgainWhenChanged) {
  write("3\n");
  FileSource source(path());
  EXPECT_FALSE(source.first_answer_known());
  source.step(100s);
  EXPECT_TRUE(source.first_answer_known());
  ASSERT_TRUE(source.last_count());
  EXPECT_EQ(source.last_count()->vms, 3U);
  write("4\n");  // within one tick of the file system's clock, and of the same size
  source.step(100s + 1ms);
  EXPECT_EQ(source.last_count()->vms, 3U) << "it is not checked before its time";
  source.step(source.wake_condition().until);
  EXPECT_EQ(source.last_count()->vms, 4U);
  EXPECT_EQ(source.last_count()->at, 101s);
  source.step(source.wake_condition().until);
  EXPECT_EQ(source.last_count()->at, 102s) << "a file that stands there is confirmed";
  EXPECT_EQ(source.take_warning(), "");
}

TEST_F(FileSourceFile, WithoutANumberIsReported) {
  write("3\n");
  FileSource source(path());
  source.step(100s);
  write("many\n");
  source.step(101s);
  EXPECT_EQ(source.last_count()->vms, 3U);
  EXPECT_EQ(source.last_count()->at, 100s);
  EXPECT_NE(source.take_warning().find(path()), std::string::npos);
  unlink(path().c_str());
  source.step(102s);
  EXPECT_EQ(source.last_count()->at, 100s);
  write("6");
  source.step(103s);
  EXPECT_EQ(source.last_count()->vms, 6U);
}

TEST_F(FileSourceFile, SpecialFileIsNotRead) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  FileSource pipe(path());
  pipe.step(1s);  // would hang
  EXPECT_FALSE(pipe.last_count());
  FileSource folder("/");
  folder.step(1s);
  EXPECT_FALSE(folder.last_count());
  FileSource endless("/dev/zero");
  endless.step(1s);
  EXPECT_FALSE(endless.last_count());
}

TEST_F(FileSourceFile, OverlongFileIsRejected) {
  write("5" + std::string(1 << 20, ' '));
  FileSource source(path());
  source.step(1s);
  EXPECT_FALSE(source.last_count());
}

}  // namespace
}  // namespace cleave::neighbours
