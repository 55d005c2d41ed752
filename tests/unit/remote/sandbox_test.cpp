// The walls around workers: what can be decided and done without namespaces.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <map>
#include <sched.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files/file_descriptor.h"
#include "remote/server/sandbox/bubblewrap.h"
#include "remote/server/sandbox/control_group.h"
#include "remote/server/sandbox/identity.h"
#include "remote/server/sandbox/needed_files.h"
#include "remote/server/sandbox/private_folder.h"
#include "remote/server/sandbox/system_calls.h"
#include "tests/kit/temporary_folder.h"

#include <netinet/in.h>

namespace cleave::remote::server {
namespace {

namespace fs = std::filesystem;

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

using Words = std::vector<std::string>;

// Where the words are in the command; its size if they are not.
std::size_t position(const Words& command, const Words& words) {
  const auto found = std::search(command.begin(), command.end(), words.begin(), words.end());
  return static_cast<std::size_t>(found - command.begin());
}

TEST(Bubblewrap, MountsWhatIsVisibleOverWhatIsHidden) {
  SandboxView view;
  view.bwrap = "/usr/bin/bwrap";
  view.hidden = {"/home", "/run"};
  view.readable = {"/home/me/driver", "/run/cleave"};
  view.masked = {"/run/cleave/server.sock"};
  view.emptied = {"/var/log/traces"};
  view.devices = {"/dev/nvidia0"};
  view.cache_seed = "/var/seed";
  view.disk = 1000;
  const Words command = bubblewrap_command(view, {kProgramInside, "--worker"});
  const std::vector<Words> in_order{{"--ro-bind", "/", "/"},
                                    {"--dev", "/dev"},
                                    {"--dev-bind-try", "/dev/nvidia0", "/dev/nvidia0"},
                                    {"--size", "1000", "--tmpfs", "/dev/shm"},
                                    {"--size", "1000", "--tmpfs", "/tmp"},
                                    {"--tmpfs", "/run"},
                                    {"--ro-bind-try", "/home/me/driver", "/home/me/driver"},
                                    {"--ro-bind-try", "/run/cleave", "/run/cleave"},
                                    {"--ro-bind", "/dev/null", "/run/cleave/server.sock"},
                                    {"--tmpfs", "/var/log/traces"},
                                    {"--ro-bind", "/var/seed", kSeedInside},
                                    {"--remount-ro", "/home"},
                                    {"--remount-ro", "/run"},
                                    {"--remount-ro", "/var/log/traces"},
                                    {"--remount-ro", "/dev"},
                                    {"--", kProgramInside, "--worker"}};
  std::size_t last = 0;
  for (const Words& words : in_order) {
    const std::size_t at = position(command, words);
    ASSERT_LT(at, command.size()) << words.front() << ' ' << words.back();
    EXPECT_GT(at, last) << words.front() << ' ' << words.back();
    last = at;
  }
  EXPECT_EQ(command.front(), view.bwrap);
  for (const char* const wall : {"--unshare-all", "--as-pid-1", "--die-with-parent", "--new-session"})
    EXPECT_THAT(command, Contains(wall));
  EXPECT_THAT(command, Not(Contains("--share-net")));
}

TEST(Bubblewrap, FoldersHoldWhatIsBelowThem) {
  EXPECT_TRUE(is_below("/home", "/home"));
  EXPECT_TRUE(is_below("/home/me", "/home"));
  EXPECT_FALSE(is_below("/homes", "/home"));
  EXPECT_FALSE(is_below("/hom", "/home"));
}

TEST(NeededFiles, AreThoseThatTheEnvironmentNames) {
  const kit::TemporaryFolder folder;
  folder.write("first.icd", "/opt/driver/libfirst.so\n");
  folder.write("second.icd", "libsecond.so\n");
  const std::map<std::string, std::string> values{{"LD_LIBRARY_PATH", "/a/lib:relative:/b/lib"},
                                                  {"LD_PRELOAD", "/c/one.so /c/two.so"},
                                                  {"OCL_ICD_VENDORS", folder.path()},
                                                  {"CLEAVE_NEIGHBOURS", "monitor,file:/run/count/vms,peers"},
                                                  {"CLEAVE_CONFIG", "/home/me/cleave.toml"}};
  const auto found = named_files([&](const char* name) {
    const auto value = values.find(name);
    return value != values.end() ? value->second.c_str() : nullptr;
  });
  for (const std::string path : {"/a/lib", "/b/lib", "/c/one.so", "/c/two.so", "/opt/driver/libfirst.so",
                                 "/run/count", "/home/me/cleave.toml"})
    EXPECT_THAT(found, Contains(path));
  EXPECT_THAT(found, Contains(folder.path()));
  EXPECT_THAT(found, Not(Contains("relative")));
  EXPECT_THAT(found, Not(Contains("libsecond.so")));
}

TEST(NeededFiles, SettingsAreThoseOfTheUserWhoStartsTheServer) {
  const kit::TemporaryFolder home;
  fs::create_directories(home.file(".config/cleave"));
  const auto variables = [&](const char* name) {
    return std::string(name) == "HOME" ? home.path().c_str() : nullptr;
  };
  EXPECT_EQ(settings_file(variables), "");
  const std::string file = home.write(".config/cleave/cleave.toml", "");
  EXPECT_EQ(settings_file(variables), file);
}

TEST(NeededFiles, HiddenFoldersStayHidden) {
  const kit::TemporaryFolder folder;
  const std::string root = fs::canonical(folder.path());
  fs::create_directories(root + "/hidden/libraries");
  fs::create_directories(root + "/hidden-not");
  fs::create_symlink(root + "/hidden/libraries", root + "/link");
  const Words hidden{root + "/hidden"};
  const Words named{root + "/hidden",        root + "/hidden/",    root,
                    root + "/hidden/absent", root + "/hidden-not", "/"};
  EXPECT_THAT(below_hidden(named, hidden), IsEmpty());
  EXPECT_THAT(below_hidden({root + "/link", root + "/hidden/libraries/"}, hidden),
              ElementsAre(root + "/hidden/libraries"));
}

// They are covered, for a worker may have the user that can read them.
TEST(Files, SecretsAreVisibleUnlessTheirFolderIsHidden) {
  const kit::TemporaryFolder folder;
  const std::string root = std::filesystem::canonical(folder.path());
  const std::string token = folder.write("token", "secret");
  std::filesystem::create_symlink(token, root + "/link");
  const Words named{token, root + "/link", root + "/absent"};
  const Words both{root + "/token", root + "/token"};
  EXPECT_EQ(visible(named, {}, {}), both);
  EXPECT_EQ(visible(named, {root}, {}), Words{});
  EXPECT_EQ(visible(named, {root}, {root}), both);
}

TEST(Users, EachWorkerGetsOneThatNobodyHas) {
  const UserRange range{100, 102};
  EXPECT_EQ(choose_user(range, {}), 100U);
  EXPECT_EQ(choose_user(range, {100, 102}), 101U);
  EXPECT_EQ(choose_user(range, {100, 101, 102}), std::nullopt);
}

TEST(Users, RangesAreOfUsersWithoutRights) {
  const auto range = read_user_range("200000-200099");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 200000U);
  EXPECT_EQ(range->last, 200099U);
  for (const char* text : {"", "5", "-", "0-10", "10-5", "1-4294967295", "65000-66000", "1-x", "1 - 2"})
    EXPECT_FALSE(read_user_range(text)) << text;
  EXPECT_EQ(user_in({0, 0}), "root");
}

// Of folders within each other.
void make_deep(const std::string& path, int depth) {
  int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; ++i) {
    ::mkdirat(folder, "deeper", 0700);
    const int next = ::openat(folder, "deeper", O_RDONLY | O_DIRECTORY);
    ::close(folder);
    folder = next;
  }
  ::close(folder);
}

TEST(PrivateFolders, AreRemovedWhateverIsInThem) {
  const kit::TemporaryFolder folder;
  const std::string outside = folder.write("outside", "kept");
  fs::create_directory(folder.file("others"));
  folder.write("others/file", "kept");
  const std::string path = folder.file("own");
  fs::create_directories(path + "/a/b");
  make_deep(path, 600);  // a path to its end would be too long
  fs::create_symlink(outside, path + "/file");
  fs::create_directory_symlink(folder.file("others"), path + "/a/folder");
  ::chmod((path + "/a/b").c_str(), 0);
  ::chmod((path + "/a").c_str(), 0);
  EXPECT_TRUE(remove_folder(path));
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(outside));
  EXPECT_TRUE(fs::exists(folder.file("others/file")));
}

TEST(PrivateFolders, LinkInPlaceOfOneIsNotFollowed) {
  const kit::TemporaryFolder folder;
  fs::create_directory(folder.file("others"));
  folder.write("others/file", "kept");
  fs::create_directory_symlink(folder.file("others"), folder.file("link"));
  EXPECT_FALSE(remove_folder(folder.file("link")));
  EXPECT_TRUE(fs::exists(folder.file("others/file")));
}

TEST(PrivateFolders, ThoseOfKilledServersAreRemoved) {
  const kit::TemporaryFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string saved = before != nullptr ? before : "/tmp";
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  fs::create_directories(folder.file("cleave-worker.stale/deep"));
  fs::create_directory(folder.file("somebody-elses"));
  std::string path;
  {
    const PrivateFolder own(::geteuid(), ::getegid());
    path = own.path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    remove_stale_folders();
    EXPECT_TRUE(fs::exists(path));
    EXPECT_FALSE(fs::exists(folder.file("cleave-worker.stale")));
    EXPECT_TRUE(fs::exists(folder.file("somebody-elses")));
  }
  EXPECT_FALSE(fs::exists(path));
  ::setenv("TMPDIR", saved.c_str(), 1);
}

TEST(ControlGroup, FolderIsThatOfTheServersGroup) {
  const std::string mounts =
      "30 20 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "35 20 0:31 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
  EXPECT_EQ(own_group_folder("4:memory:/other\n0::/system.slice/a.service\n", mounts),
            "/sys/fs/cgroup/system.slice/a.service");
  EXPECT_EQ(own_group_folder("4:memory:/other\n", mounts), "");
  EXPECT_EQ(own_group_folder("0::/a\n", ""), "");
}

// What the kernel would put into groups.
void write_group(const kit::TemporaryFolder& folder, const std::string& name) {
  fs::create_directory(folder.file(name));
  for (const char* const file : {"cgroup.procs", "cgroup.kill", "pids.max", "memory.max", "cpu.max"})
    folder.write(name + "/" + file, "");
}

TEST(ControlGroup, HasTheLimitsOfAWorker) {
  const kit::TemporaryFolder folder;
  folder.write("cgroup.subtree_control", "");
  write_group(folder, "server");
  write_group(folder, "worker-0");
  SandboxSettings limits;
  limits.host_memory = 1 << 20;
  limits.processor = 150;
  limits.processes = 77;
  std::string problem;
  auto groups = ControlGroups::make(folder.path(), limits, problem);
  ASSERT_TRUE(groups) << problem;
  EXPECT_EQ(kit::file_contents(folder.file("server/cgroup.procs")), "0");
  EXPECT_EQ(kit::file_contents(folder.file("cgroup.subtree_control")), "+memory +pids +cpu");
  {
    const ControlGroup group = groups->add();
    EXPECT_EQ(kit::file_contents(folder.file("worker-0/pids.max")), "77");
    EXPECT_EQ(kit::file_contents(folder.file("worker-0/memory.max")), "1048576");
    EXPECT_EQ(kit::file_contents(folder.file("worker-0/cpu.max")), "150000 100000");
    EXPECT_GE(group.entry(), 0);
    EXPECT_EQ(kit::file_contents(folder.file("worker-0/cgroup.kill")), "");
  }
  EXPECT_EQ(kit::file_contents(folder.file("worker-0/cgroup.kill")), "1");
}

TEST(ControlGroup, SaysWhatIsMissing) {
  const kit::TemporaryFolder folder;
  std::string problem;
  EXPECT_FALSE(ControlGroups::make("", {}, problem));
  EXPECT_EQ(problem, "there is no cgroup v2 here");
  EXPECT_FALSE(ControlGroups::make(folder.path(), {}, problem));
  EXPECT_THAT(problem, testing::HasSubstr(folder.path()));
}

// Whether a child in which the system calls are refused finds all that it asks for true.
bool holds_in_filter(const std::function<bool()>& asks, const Words& allowed = {}) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refuse_system_calls(allowed).empty() && asks() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_refused(long result) { return result == -1 && errno == EPERM; }

TEST(SystemCalls, ThatLeadOutAreRefused) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::unshare(CLONE_NEWUSER)); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::unshare(CLONE_FS | CLONE_NEWNS)); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::socket(AF_INET, SOCK_STREAM, 0)); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::socket(AF_NETLINK, SOCK_RAW, 0)); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::setsid()); }));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::prctl(PR_SET_PDEATHSIG, 0)); }));
  constexpr long kUpperHalf = 1L << 32U;  // which the kernel does not look at
  EXPECT_TRUE(
      holds_in_filter([] { return is_refused(::syscall(SYS_prctl, kUpperHalf | PR_SET_PDEATHSIG, 0)); }));
  EXPECT_TRUE(holds_in_filter(
      [] { return is_refused(::syscall(SYS_socket, kUpperHalf | AF_INET, SOCK_STREAM, 0)); }));
}

TEST(SystemCalls, APassedConnectionLeadsNowhereElse) {
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const base::FileDescriptor passed(::socket(AF_INET, SOCK_STREAM, 0));
  const int socket = passed.get();
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const name = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_TRUE(holds_in_filter([&] { return is_refused(::connect(socket, name, sizeof address)); }));
  EXPECT_TRUE(holds_in_filter([&] { return is_refused(::bind(socket, name, sizeof address)); }));
  EXPECT_TRUE(holds_in_filter([&] { return is_refused(::listen(socket, 1)); }));
  EXPECT_TRUE(holds_in_filter(
      [&] { return is_refused(::sendto(socket, "", 1, MSG_FASTOPEN, name, sizeof address)); }));
  msghdr message{};
  EXPECT_TRUE(holds_in_filter([&] { return is_refused(::sendmsg(socket, &message, MSG_FASTOPEN)); }));
}

TEST(SystemCalls, ThatAreNamedAreAllowed) {
  EXPECT_TRUE(is_system_call("setsid"));
  EXPECT_FALSE(is_system_call("no_such_call"));
  EXPECT_TRUE(holds_in_filter([] { return ::setsid() > 0; }, {"setsid"}));
  EXPECT_TRUE(holds_in_filter([] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }, {"socket"}));
  EXPECT_TRUE(holds_in_filter([] { return is_refused(::unshare(CLONE_NEWUSER)); }, {"setsid", "socket"}));
}

TEST(SystemCalls, OfDriversAreAllowed) {
  EXPECT_TRUE(holds_in_filter([] { return ::unshare(CLONE_FS) == 0; }));
  EXPECT_TRUE(holds_in_filter([] { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }));
  EXPECT_TRUE(holds_in_filter([] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return ::waitpid(child, nullptr, 0) == child;
  }));
}

}  // namespace
}  // namespace cleave::remote::server
