// The trace's file: valid JSON at any time, a limit, forks, and places that cannot be written.

#include "observe/trace_writer.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "base/text/json.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::observe {
namespace {

using testing::HasSubstr;

class TraceFile : public testing::Test {
 protected:
  std::string path(const std::string& name = "trace") const { return folder_.file(name); }

  // Whether Python's json reads the file, which then has that many events of Cleave's own.
  static bool has_events(const std::string& file, int count) {
    const std::string script =
        "import json,sys; events = json.load(open(sys.argv[1], encoding='utf-8')); "
        "sys.exit(sum(event.get('cat') == 'test' for event in events) != int(sys.argv[2]))";
    return std::system(("python3 -c \"" + script + "\" " + file + " " + std::to_string(count)).c_str()) == 0;
  }

  static void add(TraceWriter& trace, const std::string& name = "something") {
    TraceEvents events;
    events.span(thread_track(), base::Nanoseconds(1'500), base::Nanoseconds(2'001'250), {name, "test", "{}"});
    trace.add(events, thread_track());
  }

  base::ForkLocks forks_;

 private:
  const kit::TemporaryFolder folder_;
};

TEST(Json, EscapesAnyString) {
  EXPECT_EQ(base::quoted("mm"), R"("mm")");
  EXPECT_EQ(base::quoted("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"");
  EXPECT_EQ(base::quoted("Xe\xe2\x84\xa2 \xf0\x9f\x99\x82"), "\"Xe\xe2\x84\xa2 \xf0\x9f\x99\x82\"");
  // Latin-1, a character that is cut off, one too long, a surrogate, one beyond the last.
  EXPECT_EQ(base::quoted("\xae"), R"("\ufffd")");
  EXPECT_EQ(base::quoted("\xe2\x84"), R"("\ufffd\ufffd")");
  EXPECT_EQ(base::quoted("\xc0\xaf"), R"("\ufffd\ufffd")");
  EXPECT_EQ(base::quoted("\xe0\x80\xaf"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(base::quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");
  EXPECT_EQ(base::quoted("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

TEST_F(TraceFile, EventsAreJsonWithTimesInMicroseconds) {
  {
    TraceWriter trace(path(), "a test", forks_, base::Clock::system());
    add(trace, "a\"b\\\n\xff");
    TraceEvents events;
    events.counter(base::Nanoseconds(3), "VMs", 5);
    events.name_track(kOwnTracks, "queue 1");
    events.begin(kOwnTracks, base::Nanoseconds(4), {"wait", "test", {}});
    events.end(kOwnTracks, base::Nanoseconds(5), {});
    events.instant(kOwnTracks, base::Nanoseconds(6), {"now", "test", {}});
    trace.add(events, thread_track());
  }
  EXPECT_TRUE(has_events(path(), 3));
  const std::string text = kit::file_contents(path());
  EXPECT_THAT(text,
              HasSubstr(R"("ts":1.500,"dur":1999.750,"name":"a\"b\\\u000a\ufffd","cat":"test","args":{}})"));
  EXPECT_THAT(text, HasSubstr(R"("ph":"C")"));
  EXPECT_THAT(text, HasSubstr(R"("args":{"VMs":5})"));
  EXPECT_THAT(text, HasSubstr(R"("tid":1073741824,"name":"thread_name","args":{"name":"queue 1"}})"));
}

TEST_F(TraceFile, IsValidJsonAtAnyTime) {
  TraceWriter trace(path(), "a test", forks_, base::Clock::system());
  trace.add(TraceEvents(), thread_track());
  EXPECT_NE(access(path().c_str(), F_OK), 0) << "nothing has happened";
  for (int i = 1; i <= 3; ++i) {
    add(trace);
    trace.flush();
    EXPECT_TRUE(has_events(path(), i));
  }
  trace.end();
  add(trace);
  EXPECT_TRUE(has_events(path(), 4)) << "what comes after the end is there as well";
}

TEST_F(TraceFile, ReplacesAnExistingFile) {
  std::ofstream(path()) << std::string(10'000, 'x');
  { add(*std::make_unique<TraceWriter>(path(), "a test", forks_, base::Clock::system())); }
  EXPECT_TRUE(has_events(path(), 1));
}

TEST_F(TraceFile, StopsAtItsLimitWithOneLogLine) {
  constexpr std::uint64_t kLimit = 10'000;
  testing::internal::CaptureStderr();
  {
    TraceWriter trace(path(), "a test", forks_, base::Clock::system(), kLimit);
    for (int i = 0; i < 1000; ++i) add(trace);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("CLEAVE_TRACE"));
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  const std::string text = kit::file_contents(path());
  EXPECT_LE(text.size(), kLimit);
  EXPECT_GT(text.size(), kLimit * 8 / 10);
  EXPECT_THAT(text, HasSubstr("the trace ends here"));
  EXPECT_EQ(std::system(("python3 -m json.tool " + path() + " > /dev/null").c_str()), 0);
}

TEST_F(TraceFile, UnwritablePathIsReportedInOneLine) {
  testing::internal::CaptureStderr();
  {
    TraceWriter trace(path("no/such/folder"), "a test", forks_, base::Clock::system());
    for (int i = 0; i < 3; ++i) add(trace);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("CLEAVE_TRACE"));
  EXPECT_THAT(said, HasSubstr("name a file in a folder that can be written to"));
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
}

TEST_F(TraceFile, FileInUseByAnotherProcessIsKept) {
  TraceWriter first(path(), "a test", forks_, base::Clock::system());
  add(first);
  first.flush();
  {
    TraceWriter second(path(), "a test", forks_, base::Clock::system());
    for (int i = 0; i < 2; ++i) add(second);
  }
  EXPECT_TRUE(has_events(path(), 1));
  EXPECT_TRUE(has_events(path() + "." + std::to_string(getpid()), 2));
}

TEST_F(TraceFile, ForkedChildWritesItsOwnFile) {
  for (const std::string& name : {std::string("trace"), std::string("trace-%p")}) {
    base::ForkLocks forks;
    TraceWriter trace(path(name), "a test", forks, base::Clock::system());
    add(trace);  // still gathered when the child comes to be
    forks.before_fork();
    const pid_t child = fork();
    if (child == 0) {
      forks.after_fork_in_child();
      for (int i = 0; i < 3; ++i) add(trace);
      trace.end();
      _exit(0);
    }
    forks.after_fork_in_parent();
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    add(trace);
    trace.end();
    const bool own = name != "trace";
    EXPECT_TRUE(has_events(own ? path("trace-" + std::to_string(getpid())) : path(), 2));
    EXPECT_TRUE(has_events(path("trace") + (own ? "-" : ".") + std::to_string(child), 3));
  }
}

TEST_F(TraceFile, ChildWithoutEventsWritesNothing) {
  TraceWriter trace(path(), "a test", forks_, base::Clock::system());
  add(trace);
  forks_.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    forks_.after_fork_in_child();
    trace.end();
    _exit(0);
  }
  forks_.after_fork_in_parent();
  waitpid(child, nullptr, 0);
  trace.end();
  EXPECT_TRUE(has_events(path(), 1));
  EXPECT_NE(access((path() + "." + std::to_string(child)).c_str(), F_OK), 0);
}

// A program may close all descriptors and open its own files in their place.
TEST_F(TraceFile, DescriptorReusedByTheProgramIsNotWrittenTo) {
  TraceWriter trace(path(), "a test", forks_, base::Clock::system());
  add(trace);
  trace.flush();
  const int own = open(path("own").c_str(), O_CREAT | O_RDWR, 0644);
  for (int file = own + 1; file < 1000; ++file) dup2(own, file);
  testing::internal::CaptureStderr();
  add(trace);
  trace.flush();
  trace.end();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("was closed by the program"));
  EXPECT_EQ(kit::file_contents(path("own")), "");
  EXPECT_TRUE(has_events(path(), 1));
  for (int file = own; file < 1000; ++file) close(file);
}

TEST_F(TraceFile, PipeGetsTheWholeTrace) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK);
  { add(*std::make_unique<TraceWriter>(path(), "a test", forks_, base::Clock::system())); }
  std::string text(10'000, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(reader, text.data(), text.size()))));
  close(reader);
  EXPECT_EQ(text.substr(0, 3), "[\n{");
  EXPECT_EQ(text.substr(text.size() - 3), "\n]\n");
}

// As the server's workers get theirs: they may not be permitted to open it anew.
TEST_F(TraceFile, DescriptorOfAnEmptyFileIsUsedAsItIs) {
  const base::FileDescriptor file(::open(path().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  TraceWriter trace("/proc/self/fd/" + std::to_string(file.get()), "a test", forks_, base::Clock::system());
  add(trace);
  trace.flush();
  EXPECT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0) << "another description has the lock";
  trace.end();
  EXPECT_TRUE(has_events(path(), 1));
}

TEST_F(TraceFile, DescriptorOfAFullPipeDoesNotHoldTheProgramUp) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const base::FileDescriptor reader(ends[0]);
  const base::FileDescriptor writer(ends[1]);
  while (::write(writer.get(), "", 1) == 1) {
  }
  ASSERT_EQ(::fcntl(writer.get(), F_SETFL, 0), 0);  // as pipes are
  TraceWriter trace("/proc/self/fd/" + std::to_string(writer.get()), "a test", forks_, base::Clock::system());
  add(trace);
  testing::internal::CaptureStderr();
  trace.end();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("can no longer be written"));
}

}  // namespace
}  // namespace cleave::observe
