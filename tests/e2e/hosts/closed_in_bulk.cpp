// Closes all descriptors that it does not know, as daemons do, before (`first`) or after (`later`) its first context, and gives their
// numbers to files and sockets of its own, or (`anonymous`) opens hundreds of eventfds, timerfds and epolls. Prints the error and the wrong results of the work that follows, of work in a new context
// after that, and whether all that is its own is as it was. The second argument is a folder, the third `files` or `anonymous`.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "host_program.h"

namespace {

constexpr std::string_view kText = "this is the program's own";
constexpr std::uint64_t kCount = 7;
constexpr int kAnonymous = 300;
constexpr time_t kFarAway = 100'000;  // seconds

std::vector<int> others() {
  std::vector<int> numbers;
  DIR* const list = opendir("/proc/self/fd");
  while (const dirent* const each = readdir(list)) {
    const int number = std::atoi(each->d_name);
    if (number > 2 && number != dirfd(list)) numbers.push_back(number);
  }
  closedir(list);
  return numbers;
}

struct Own {
  int number;
  int peer;  // of a socket; -1: a file
  struct stat status;
};

// Files and sockets alternately.
std::vector<Own> take(const std::vector<int>& numbers, const std::string& folder) {
  std::vector<Own> made;
  for (const int number : numbers) {
    int ends[2] = {-1, -1};
    if (made.size() % 2 == 0) {
      ends[0] = open((folder + "/" + std::to_string(number)).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
      if (write(ends[0], kText.data(), kText.size()) < 0) std::exit(3);
      lseek(ends[0], 0, SEEK_SET);
    } else {
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) std::exit(3);
      if (write(ends[1], kText.data(), kText.size()) < 0) std::exit(3);
    }
    if (ends[0] != number) {
      dup2(ends[0], number);
      close(ends[0]);
    }
    Own own{number, ends[1], {}};
    fstat(number, &own.status);
    made.push_back(own);
  }
  return made;
}

// What is left to read from it is what was written, and nobody has written anything else.
bool is_intact(const Own& own) {
  struct stat status {};
  std::array<char, 4096> text{};
  if (fstat(own.number, &status) != 0 || status.st_ino != own.status.st_ino) return false;
  if (own.peer < 0 && (status.st_size != own.status.st_size || lseek(own.number, 0, SEEK_CUR) != 0))
    return false;
  const ssize_t size = read(own.number, text.data(), text.size());
  if (size != static_cast<ssize_t>(kText.size()) || std::string_view(text.data(), kText.size()) != kText)
    return false;
  return own.peer < 0 || read(own.peer, text.data(), text.size()) < 0;  // not the end either
}

// What all have in common by fstat(2), at all low numbers, alternately.
std::vector<int> take_anonymous() {
  const itimerspec far_away{{0, 0}, {kFarAway, 0}};
  std::vector<int> made;
  for (int i = 0; i < kAnonymous; ++i) {
    if (i % 3 == 0) {
      made.push_back(eventfd(kCount, EFD_NONBLOCK));
    } else if (i % 3 == 1) {
      made.push_back(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
      timerfd_settime(made.back(), 0, &far_away, nullptr);
    } else {
      made.push_back(epoll_create1(0));
    }
  }
  return made;
}

// The number is still of this kind, and nobody has read, written or set it.
bool is_intact(int number, int kind) {
  std::uint64_t count = 0;
  itimerspec left{};
  epoll_event event{};
  if (kind == 0) return read(number, &count, sizeof count) == sizeof count && count == kCount;
  if (kind == 1) return timerfd_gettime(number, &left) == 0 && left.it_value.tv_sec > kFarAway / 2;
  return epoll_wait(number, &event, 1, 0) == 0;
}

void nothing() {}

void report(const char* what, HostProgram& program) {
  program.work(20, nothing);
  std::printf("%s error %d wrong %d\n", what, HostProgram::error(), program.wrong());
  HostProgram::forget_error();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const bool later = std::string_view(arguments[1]) == "later";
  std::vector<int> numbers;
  std::vector<Own> own;
  std::vector<int> anonymous;
  const auto close_all = [&] {
    numbers = others();
    closefrom(3);
    if (std::string_view(arguments[3]) == "anonymous") {
      anonymous = take_anonymous();
    } else {
      own = take(numbers, arguments[2]);
    }
  };
  if (!later) {
    HostProgram::list_devices();
    usleep(100'000);  // whatever is connected and started then is there
    close_all();
  }
  HostProgram program;
  if (later) {
    program.work(20, nothing);
    close_all();
  }
  report("work", program);
  HostProgram again;
  report("new context", again);
  int spoilt = 0;
  for (const Own& each : own) spoilt += is_intact(each) ? 0 : 1;
  for (std::size_t i = 0; i < anonymous.size(); ++i)
    spoilt += is_intact(anonymous[i], static_cast<int>(i % 3)) ? 0 : 1;
  std::printf("spoilt %d\n", spoilt);
  std::fflush(stdout);
  return 0;
}
