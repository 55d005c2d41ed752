#include "base/log.h"

#include <csignal>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace cleave::base {
namespace {

// Runs `act` in a child whose standard error is `error`; its exit status, or minus the signal that ended it.
template <typename Act>
int in_child(int error, Act act) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(error, STDERR_FILENO);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// What one call reads of what is logged.
std::string read_at_once(const char* logged) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(in_child(ends[1], [logged] { log_line(logged); }), 0);
  char text[64] = {};
  EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
  close(ends[0]);
  close(ends[1]);
  return text;
}

TEST(Log, WritesEachLineInOneCall) { EXPECT_EQ(read_at_once("something"), "cleave: something\n"); }

TEST(Log, HoldsNothingThatATerminalActsOn) {
  EXPECT_EQ(read_at_once("a\x1b[31m\n\u009b2J \u202e \xff é"), "cleave: a?[31m??2J ? ? é\n");
}

TEST(Log, ClosedPipeDoesNotKillTheProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(in_child(ends[1], [] { log_line("nobody reads this"); }), 0);
  EXPECT_EQ(in_child(ends[1],
                     [] {
                       log_line("nobody reads this");
                       // What the program itself writes there is its own affair, as ever.
                       static_cast<void>(write(STDERR_FILENO, "x", 1));
                     }),
            -SIGPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace cleave::base
