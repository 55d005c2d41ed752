// The registry of processes: what one process publishes and others read, whatever becomes of it.

#include "neighbours/registry_entry.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "base/files/registry_file.h"
#include "neighbours/peers_source.h"
#include "neighbours/registry_folder.h"
#include "tests/kit/eventually.h"
#include "tests/kit/hostile_file.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

class ProcessRegistry : public testing::Test {
 protected:
  const std::string& folder() const { return folder_; }
  std::vector<cleave_registry_entry> living() const {
    std::vector<cleave_registry_entry> entries;
    for (const LiveEntry& each : live_entries(folder_)) entries.push_back(each.entry);
    return entries;
  }
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator());
  }

  // A process that enters, and lives until it is killed.
  pid_t other(std::uint64_t device = 7) const {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      base::ForkLocks forks;
      RegistryEntry entry(forks, folder_);
      entry.add_device(device);
      entry.publish();
      entry.count_split(20, 5ns);
      static_cast<void>(write(ready[1], "r", 1));
      for (;;) pause();
    }
    char answer = 0;
    EXPECT_EQ(read(ready[0], &answer, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }

  static void kill_and_wait(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }

  base::ForkLocks forks_;

 private:
  const kit::TemporaryFolder top_;
  const std::string folder_ = top_.file("registry");
};

TEST_F(ProcessRegistry, CountersAreVisibleToOtherProcesses) {
  RegistryEntry entry(forks_, folder());
  entry.add_device(7);
  entry.add_device(7);
  entry.count_unsplit();  // before it is entered
  entry.publish();
  entry.publish();
  entry.add_device(9);
  entry.count_split(20, 500ns);
  entry.set_vms(5);
  ASSERT_EQ(living().size(), 1U);
  const cleave_registry_entry seen = living()[0];
  EXPECT_EQ(seen.pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_STREQ(seen.program, program_invocation_short_name);
  EXPECT_EQ(seen.vms, 5U);
  EXPECT_EQ(seen.devices[0], 7U);
  EXPECT_EQ(seen.devices[1], 9U);
  EXPECT_EQ(seen.devices[2], 0U);
  EXPECT_EQ(cleave_registry_unsplit(&seen), 1U);
  EXPECT_EQ(seen.split, 1U);
  EXPECT_EQ(seen.slices, 20U);
  EXPECT_EQ(seen.added_ns, 500U);
}

TEST_F(ProcessRegistry, LeavingRemovesTheEntry) {
  RegistryEntry entry(forks_, folder());
  entry.publish();
  EXPECT_EQ(files(), 1);
  entry.withdraw();
  entry.count_unsplit();  // from a static destructor
  entry.publish();
  EXPECT_EQ(files(), 0);
}

TEST_F(ProcessRegistry, CrashedProcessIsIgnoredAndItsFileRemovedLater) {
  const pid_t process = other();
  EXPECT_EQ(living().size(), 1U);
  kill_and_wait(process);
  EXPECT_EQ(living().size(), 0U);
  EXPECT_EQ(files(), 1);
  RegistryEntry entry(forks_, folder());
  entry.publish();
  EXPECT_EQ(living().size(), 1U);
  EXPECT_EQ(files(), 1);
}

TEST_F(ProcessRegistry, LiveProcessIsNeverRemoved) {
  const pid_t process = other();
  for (int i = 0; i < 3; ++i) RegistryEntry(forks_, folder()).publish();
  EXPECT_EQ(living().size(), 1U);
  kill_and_wait(process);
}

TEST_F(ProcessRegistry, ForkedChildHasItsOwnEntryOrNone) {
  RegistryEntry entry(forks_, folder());
  entry.add_device(7);
  entry.publish();
  entry.count_unsplit();
  forks_.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    forks_.after_fork_in_child();
    bool right = entry.file().empty();
    entry.count_unsplit();
    entry.publish();
    const auto all = live_entries(folder(), "");
    right = right && all.size() == 2;
    for (const auto& each : all) right = right && cleave_registry_unsplit(&each.entry) == 1;
    entry.withdraw();
    _exit(right ? 0 : 1);
  }
  forks_.after_fork_in_parent();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(living().size(), 1U);
  EXPECT_EQ(cleave_registry_unsplit(&living()[0]), 1U);
}

TEST_F(ProcessRegistry, ParentsDeathIsDetectedWhileItsChildLives) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    RegistryEntry entry(forks_, folder());
    entry.publish();
    forks_.before_fork();
    if (fork() == 0) {
      forks_.after_fork_in_child();
      char wait = 0;
      close(ends[1]);
      _exit(static_cast<int>(read(ends[0], &wait, 1)));
    }
    kill(getpid(), SIGKILL);
  }
  waitpid(parent, nullptr, 0);
  // The grandchild may still be on its way to letting go.
  EXPECT_TRUE(kit::eventually([&] { return living().empty(); }));
  close(ends[1]);
  close(ends[0]);
}

TEST_F(ProcessRegistry, GarbageFilesAreIgnored) {
  RegistryEntry entry(forks_, folder());
  entry.publish();
  const auto put = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder() + "/" + name) << content;
  };
  put("README", "x");
  put("1.0123456789abcdef", "");
  put("2.0123456789abcdef", "short");
  put("3.0123456789abcdef", std::string(CLEAVE_REGISTRY_FILE_SIZE, 'x'));
  put("4.0123456789abcdeF", std::string(CLEAVE_REGISTRY_FILE_SIZE, 'x'));
  put("12345", "x");
  std::filesystem::create_directory(folder() + "/5.0123456789abcdef");
  std::filesystem::create_symlink("/dev/zero", folder() + "/6.0123456789abcdef");
  ASSERT_EQ(mkfifo((folder() + "/7.0123456789abcdef").c_str(), 0600), 0);
  EXPECT_EQ(living().size(), 1U);

  // Locked by a process, and still garbage.
  for (const char* name : {"2.0123456789abcdef", "3.0123456789abcdef"}) {
    const int file = open((folder() + "/" + name).c_str(), O_RDWR | O_CLOEXEC);
    struct flock all {};
    all.l_type = F_WRLCK;
    ASSERT_EQ(fcntl(file, F_OFD_SETLK, &all), 0);
    EXPECT_EQ(living().size(), 1U) << name;
    close(file);
  }
  const int place = base::open_registry_folder(folder());
  remove_dead_entries(place);
  close(place);
  EXPECT_EQ(living().size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(folder() + "/README"));
  EXPECT_TRUE(std::filesystem::exists(folder() + "/1.0123456789abcdef")) << "it may be in the making";
  EXPECT_FALSE(std::filesystem::exists(folder() + "/3.0123456789abcdef"));
}

// Of others' files: its own is read-only for other users.
TEST_F(ProcessRegistry, NothingDoneToAFileHoldsUpItsUsers) {
  for (const kit::HostileFile& attack : kit::hostile_files(1 << 20)) {
    RegistryEntry entry(forks_, folder());
    entry.publish();
    const kit::Attack attacker(attack, folder() + "/1.0123456789abcdef");
    kit::must_return(attack.name, [&] {
      EXPECT_EQ(living().size(), 1U) << attack.name;
      RegistryEntry more(forks_, folder());
      more.publish();
      more.count_unsplit();
      more.withdraw();
      entry.count_unsplit();
      entry.withdraw();
      EXPECT_EQ(living().size(), 0U) << attack.name;
    });
    std::filesystem::remove_all(folder());
  }
}

// Files of another user, which only root can make.
class StrangersFiles {
 public:
  StrangersFiles(const std::string& folder, int count, const std::string& content) {
    for (int i = 0; i < count; ++i) {
      std::array<char, 40> name{};
      std::snprintf(name.data(), name.size(), "/%d.%016x", 100'000 + i, static_cast<unsigned>(i));
      const std::string path = folder + name.data();
      base::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0444));
      EXPECT_TRUE(file.is_open());
      EXPECT_EQ(fchown(file.get(), kStranger, kStranger), 0);
      if (content.empty()) continue;
      EXPECT_TRUE(base::write_all(file.get(), content));
      struct flock all {};
      all.l_type = F_WRLCK;
      EXPECT_EQ(fcntl(file.get(), F_OFD_SETLK, &all), 0);
      locked_.push_back(std::move(file));
    }
  }

 private:
  static constexpr uid_t kStranger = 54'321;
  std::vector<base::FileDescriptor> locked_;
};

TEST_F(ProcessRegistry, FloodOfAnotherUserHidesNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  std::vector<std::unique_ptr<RegistryEntry>> entries;
  constexpr std::size_t kEntries = 20;
  for (std::size_t i = 0; i < kEntries; ++i) {
    entries.push_back(std::make_unique<RegistryEntry>(forks_, folder()));
    entries.back()->publish();
  }
  const StrangersFiles flood(folder(), 3000, "");
  EXPECT_EQ(living().size(), kEntries);
}

TEST_F(ProcessRegistry, EntriesOfAnotherUserCountOnlySoFar) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  RegistryEntry entry(forks_, folder());
  entry.add_device(7);
  entry.publish();
  RegistryEntry second(forks_, folder());
  second.add_device(7);
  second.publish();
  const std::string forged = kit::file_contents(folder() + "/" + second.file());
  const StrangersFiles files(folder(), 400, forged);
  EXPECT_EQ(living().size(), 2 + kMaxEntriesOfUser);
  PeersSource peers(entry);
  peers.step(std::chrono::seconds(1));
  ASSERT_TRUE(peers.last_count());
  EXPECT_EQ(peers.last_count()->vms, 2 + PeersSource::kMaxOfOtherUser);
}

TEST_F(ProcessRegistry, ValidatesEachField) {
  cleave_registry_entry good{};
  good.magic = CLEAVE_REGISTRY_MAGIC;
  good.version = CLEAVE_REGISTRY_VERSION;
  good.vms = 1;
  EXPECT_NE(cleave_registry_entry_is_sound(&good, CLEAVE_REGISTRY_FILE_SIZE), 0);
  EXPECT_EQ(cleave_registry_entry_is_sound(&good, 0), 0);
  EXPECT_EQ(cleave_registry_entry_is_sound(&good, CLEAVE_REGISTRY_FILE_SIZE + 1), 0);
  for (void (*spoil)(cleave_registry_entry&) :
       {+[](cleave_registry_entry& e) { e.magic = 0; }, +[](cleave_registry_entry& e) { e.version = 2; },
        +[](cleave_registry_entry& e) { e.vms = 0; },
        +[](cleave_registry_entry& e) { std::memset(e.program, 'x', sizeof e.program); }}) {
    cleave_registry_entry bad = good;
    spoil(bad);
    EXPECT_EQ(cleave_registry_entry_is_sound(&bad, CLEAVE_REGISTRY_FILE_SIZE), 0);
  }
}

TEST_F(ProcessRegistry, DoesNotFollowASymlinkInPlaceOfTheFolder) {
  const std::string target = std::filesystem::path(folder()).parent_path() / "elsewhere";
  std::filesystem::create_directory(target);
  std::filesystem::create_symlink(target, folder());
  RegistryEntry entry(forks_, folder());
  entry.publish();
  EXPECT_TRUE(std::filesystem::is_empty(target));
}

TEST_F(ProcessRegistry, FileSizeLimitOfTheProgramIsRespected) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit small = {100, 100};
    setrlimit(RLIMIT_FSIZE, &small);
    RegistryEntry entry(forks_, folder());
    entry.publish();  // a signal would end it here
    entry.count_unsplit();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(ProcessRegistry, ConcurrentUpdatesAndReads) {
  RegistryEntry entry(forks_, folder());
  entry.publish();
  kit::on_threads(5, [&](std::size_t thread) {
    for (int i = 0; thread > 0 && i < 10'000; ++i) entry.count_split(2, 1ns);
    for (int i = 0; thread == 0 && i < 200; ++i) {
      for (const auto& seen : living()) EXPECT_LE(seen.slices, 80'000U);
      entry.set_vms(static_cast<unsigned>(i + 1));
      entry.add_device(static_cast<std::uint64_t>(i + 1));
    }
  });
  EXPECT_EQ(living()[0].slices, 80'000U);
  EXPECT_EQ(living()[0].devices[CLEAVE_REGISTRY_DEVICES - 1], std::uint64_t{CLEAVE_REGISTRY_DEVICES});
}

TEST_F(ProcessRegistry, PeersShareADevice) {
  const pid_t same = other(7);
  const pid_t elsewhere = other(8);
  RegistryEntry entry(forks_, folder());
  PeersSource source(entry);
  source.step(1s);
  EXPECT_EQ(source.last_count()->vms, 1U) << "it uses no device yet";
  entry.add_device(7);
  entry.publish();
  source.step(source.wake_condition().until);
  EXPECT_EQ(source.last_count()->vms, 2U);
  kill_and_wait(same);
  source.step(source.wake_condition().until);
  EXPECT_EQ(source.last_count()->vms, 1U);
  EXPECT_EQ(source.last_count()->at, 3s);
  kill_and_wait(elsewhere);
}

TEST_F(ProcessRegistry, CountsLocallyWithoutAFolder) {
  RegistryEntry entry(forks_, "");
  entry.publish();
  entry.count_unsplit();
  EXPECT_FALSE(entry.has_registry());
  RegistryEntry nowhere(forks_, "/proc/no/such/folder");
  nowhere.publish();
  nowhere.count_unsplit();
  EXPECT_EQ(nowhere.file(), "");
}

}  // namespace
}  // namespace cleave::neighbours
