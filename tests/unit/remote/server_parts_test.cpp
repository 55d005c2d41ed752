// The parts of the server that need neither a driver nor a process.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "remote/protocol/features.h"
#include "remote/server/memory/staging.h"
#include "remote/server/options/options.h"
#include "remote/server/session/memory_account.h"
#include "remote/server/session/object_table.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/statistics.h"
#include "remote/server/supervisor/trace_folder.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::remote::server {
namespace {

void* const kHandle = reinterpret_cast<void*>(0x1000);

TEST(ObjectTable, AreFoundByKind) {
  ObjectTable objects;
  ASSERT_TRUE(objects.add(7, {Kind::memory, kHandle, 64}));
  EXPECT_EQ(objects.handle<cl_mem>(7), kHandle);
  EXPECT_EQ(objects.handle<cl_kernel>(7), nullptr);
  EXPECT_EQ(objects.handle<cl_mem>(8), nullptr);
  EXPECT_TRUE(objects.remove(7));
  EXPECT_EQ(objects.handle<cl_mem>(7), nullptr);
  EXPECT_FALSE(objects.remove(7));
}

TEST(ObjectTable, IdsAreUniqueAndInTheClientsRange) {
  ObjectTable objects;
  EXPECT_FALSE(objects.add(0, {Kind::memory, kHandle}));
  EXPECT_FALSE(objects.add(kFirstServerId, {Kind::memory, kHandle}));
  EXPECT_TRUE(objects.add(kFirstServerId - 1, {Kind::memory, kHandle}));
  EXPECT_FALSE(objects.add(kFirstServerId - 1, {Kind::event, kHandle}));
  EXPECT_FALSE(objects.add_server_object(5, {Kind::device, kHandle}));
  EXPECT_TRUE(objects.add_server_object(kFirstServerId, {Kind::device, kHandle}));
  EXPECT_EQ(objects.id_of(static_cast<cl_device_id>(kHandle)), kFirstServerId);
  EXPECT_FALSE(objects.remove(kFirstServerId));
}

TEST(ObjectTable, ProgramLinkedAfterItsReleaseIsNotRegistered) {
  ObjectTable objects;
  ASSERT_TRUE(objects.add(1, {Kind::program, nullptr}));
  ASSERT_TRUE(objects.add(2, {Kind::program, nullptr}));
  objects.remove(2);
  EXPECT_TRUE(objects.complete(1, kHandle));
  EXPECT_FALSE(objects.complete(2, kHandle));
  EXPECT_EQ(objects.handle<cl_program>(1), kHandle);
}

TEST(MemoryAccount, CountsWhatIsHeldUntilItsLastUse) {
  auto account = std::make_optional<MemoryAccount>(100);
  auto first = account->hold(60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(account->hold(41));
  const auto same = first;
  first.reset();
  EXPECT_FALSE(account->hold(41));
  EXPECT_TRUE(account->hold(40));
  EXPECT_FALSE(account->hold(UINT64_MAX));
  account.reset();  // what is held may outlive it
  EXPECT_EQ(same->size(), 60U);
}

TEST(Staging, RespectsItsLimit) {
  Staging staging(1U << 20U);
  Block first = staging.take(600'000);
  ASSERT_TRUE(first);
  EXPECT_EQ(first.bytes().size(), 600'000U);
  EXPECT_FALSE(staging.take(600'000));
  EXPECT_FALSE(staging.take(SIZE_MAX));
  EXPECT_FALSE(staging.take(std::size_t{1} << 63U));
  first = Block();
  EXPECT_TRUE(staging.take(600'000));
}

TEST(Staging, ReusesBlocks) {
  Staging staging(64U << 20U);
  const std::byte* const before = staging.take(5000).data();
  const Block again = staging.take(8000);
  EXPECT_EQ(again.data(), before);
  const Block other = staging.take(8000);
  EXPECT_NE(other.data(), before);
}

TEST(Staging, KeepsALimitedReserve) {
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  Staging staging(256 * kBlock);
  {
    std::vector<Block> blocks;
    for (int i = 0; i < 200; ++i) blocks.push_back(staging.take(kBlock));
  }
  EXPECT_EQ(staging.cached_bytes(), 128 * kBlock);
  staging.trim(std::chrono::hours(1));
  EXPECT_EQ(staging.cached_bytes(), 128 * kBlock);
  staging.trim(std::chrono::seconds(0));
  EXPECT_EQ(staging.cached_bytes(), 32 * kBlock);
  staging.trim(std::chrono::seconds(0));
  EXPECT_EQ(staging.cached_bytes(), 32 * kBlock);
}

TEST(Staging, HandlesAllSizes) {
  Staging staging(64U << 20U);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{5} << 20U, std::size_t{33} << 20U}) {
    const Block block = staging.take(size);
    ASSERT_TRUE(block) << size;
    if (size > 0) block.bytes().back() = std::byte{1};
  }
}

Options read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cleave-serverd");
  return read_options(arguments).value();
}

std::string mistake(const std::vector<const char*>& arguments) try {
  read(arguments);
  return {};
} catch (const OptionError& error) {
  return error.what();
}

TEST(ServerOptions, AreParsed) {
  const Options options = read({"--listen",
                                "tcp:127.0.0.1:5,unix:/x",
                                "--max-clients",
                                "3",
                                "--memory-per-client",
                                "2G",
                                "--commands-per-client",
                                "64",
                                "--data-per-client",
                                "1M",
                                "--devices",
                                "*H200*",
                                "--timeout",
                                "700",
                                "--build-time",
                                "30",
                                "--build-memory",
                                "2G",
                                "--build-output",
                                "1K"});
  ASSERT_EQ(options.listen.size(), 2U);
  EXPECT_EQ(as_text(options.listen[1]), "unix:/x");
  EXPECT_EQ(options.max_clients, 3U);
  EXPECT_EQ(options.limits.memory, std::uint64_t{2} << 30U);
  EXPECT_EQ(options.limits.window_commands, 64U);
  EXPECT_EQ(options.limits.window_bytes, std::uint64_t{1} << 20U);
  EXPECT_EQ(options.limits.build.seconds, 30U);
  EXPECT_EQ(options.limits.build.memory, std::uint64_t{2} << 30U);
  EXPECT_EQ(options.limits.build.output, 1024U);
  EXPECT_EQ(options.devices, std::vector<std::string>{"*H200*"});
  EXPECT_EQ(options.timeout, std::chrono::milliseconds(700));
  EXPECT_TRUE(read({}).listen.empty());
}

TEST(ServerOptions, ErrorsNameTheOptionAndTheFix) {
  EXPECT_NE(mistake({"--listen", "nonsense"}).find("--listen: 'nonsense' is not understood; expected"),
            std::string::npos);
  EXPECT_NE(mistake({"--max-clients", "many"}).find("--max-clients: 'many'"), std::string::npos);
  EXPECT_NE(mistake({"--memory-per-client", "2X"}).find("such as 512M"), std::string::npos);
  EXPECT_NE(mistake({"--commands-per-client", "1"}).find("from 16"), std::string::npos);
  EXPECT_NE(mistake({"--nonsense"}).find("--help"), std::string::npos);
}

TEST(ServerOptions, NetworkAddressNeedsAuthentication) {
  EXPECT_NE(mistake({"--listen", "tcp:0.0.0.0:5"}).find("--token-file"), std::string::npos);
  EXPECT_NE(mistake({"--listen", "tls:0.0.0.0:5"}).find("--tls-cert"), std::string::npos);
  EXPECT_NE(mistake({"--listen", "tls:gpu:5", "--tls-cert", "x"}).find("--client-ca"), std::string::npos);
  EXPECT_EQ(mistake({"--listen", "tls:gpu:5", "--tls-cert", "x", "--client-ca", "y"}), "");
  EXPECT_EQ(mistake({"--listen", "tcp:gpu:5", "--token-file", "x"}), "");
  EXPECT_EQ(mistake({"--listen", "vsock:any:5"}), "");
}

TEST(ServerOptions, TheFileHasTheSameNamesAndTheCommandLineWins) {
  const kit::TemporaryFolder folder;
  const std::string path = folder.write(
      "serverd.toml", "listen = ['unix:/a', 'unix:/b']\nmax-clients = 3\nmemory-per-client = '2G'\n");
  const Options options = read({"--config", path.c_str(), "--max-clients", "5"});
  EXPECT_EQ(options.listen.size(), 2U);
  EXPECT_EQ(options.max_clients, 5U);
  EXPECT_EQ(options.limits.memory, std::uint64_t{2} << 30U);
  folder.write("serverd.toml", "worker = true\n");
  EXPECT_NE(mistake({"--config", path.c_str()}).find(":1: worker: there is no such option"),
            std::string::npos);
}

TEST(ServerOptions, SocketModeIsAStringInTheFile) {
  const kit::TemporaryFolder folder;
  EXPECT_EQ(read({"--config", folder.write("text", "socket-mode = '0600'").c_str()}).socket_mode, 0600U);
  const std::string path = folder.write("integer", "socket-mode = 0o660");
  EXPECT_EQ(
      mistake({"--config", path.c_str()}),
      path +
          ":1: socket-mode: an integer is not understood as octal; write it as a string, such as \"0660\"");
}

TEST(ServerOptions, DefaultAddressIsInTheServiceManagersFolder) {
  ::unsetenv("RUNTIME_DIRECTORY");
  EXPECT_EQ(as_text(default_endpoint()), "unix:/run/cleave/server.sock");
  ::setenv("RUNTIME_DIRECTORY", "/run/cleave-server:/run/other", 1);
  EXPECT_EQ(as_text(default_endpoint()), "unix:/run/cleave-server/server.sock");
  ::setenv("RUNTIME_DIRECTORY", ("/" + std::string(200, 'x')).c_str(), 1);
  EXPECT_THROW(default_endpoint(), OptionError);
  ::unsetenv("RUNTIME_DIRECTORY");
}

TEST(ServerOptions, WorkersGetTheResolvedValues) {
  const kit::TemporaryFolder folder;
  const std::string path = folder.write("serverd.toml",
                                        "max-clients = 3\ndevices = ['*H200*', 'pocl']\n"
                                        "state = 'a folder'\nheartbeat = 100\n");
  const Options options =
      read({"--config", path.c_str(), "--max-clients", "5", "--listen", "unix:/a,unix:/b"});
  const Options same = options_from(options.given);
  EXPECT_EQ(same.max_clients, 5U);
  EXPECT_EQ(same.devices, (std::vector<std::string>{"*H200*", "pocl"}));
  EXPECT_EQ(same.state, "a folder");
  EXPECT_EQ(same.heartbeat, std::chrono::milliseconds(100));
  EXPECT_EQ(same.listen, options.listen);
  EXPECT_THROW(options_from({{"nonsense", "1"}}), OptionError);
  EXPECT_THROW(options_from({{"heartbeat", "soon"}}), OptionError);
}

TEST(ServerOptions, AreInTheManualAndInTheExampleFile) {
  const std::string man = kit::file_contents(CLEAVE_SOURCE "/remote/server/cleave-serverd.8");
  const std::string example = kit::file_contents(CLEAVE_SOURCE "/remote/server/serverd.toml");
  Options options;
  for (const daemon::Option& option : option_table(options)) {
    const char* const end = option.arity == daemon::Option::Arity::flag ? "\n" : " ";
    EXPECT_NE(man.find("Fl -" + option.name + end), std::string::npos) << option.name;
    EXPECT_NE(example.find("\n#" + option.name + " = "), std::string::npos) << option.name;
  }
}

TEST(ServerOptions, WorkersLearnWhetherThereArePeersButNoPathOfTheirs) {
  const auto left =
      options_of_workers({{"peers", "tcp:10.0.0.0/8"}, {"peer-ca", "/a/path"}, {"peer-address", "tcp:a"}});
  EXPECT_FALSE(options_from(left).peers.empty());
  EXPECT_EQ(options_from(left).peer_authority, "");
  EXPECT_EQ(options_from(left).peer_addresses, std::vector<std::string>{"tcp:a"});
}

TEST(ServerOptions, SizesHaveUnits) {
  EXPECT_EQ(read_size("512"), 512U);
  EXPECT_EQ(read_size("3K"), 3072U);
  EXPECT_EQ(read_size("1T"), std::uint64_t{1} << 40U);
  for (const char* text :
       {"", "0", "-1", "K", "1KB", "1k", "99999999999999999999", "18446744073709551615K"}) {
    EXPECT_FALSE(read_size(text)) << text;
  }
}

TEST(ClientLimits, ByDefaultNobodyMayHaveAllMemory) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  EXPECT_EQ(default_memory(160 * kGiB, 16), 150 * kGiB);
  EXPECT_EQ(default_memory(16 * kGiB, 2), 8 * kGiB);
  EXPECT_EQ(default_memory(16 * kGiB, 1000), 16 * kGiB - kGiB / 2) << "room for a context is left";
  EXPECT_EQ(default_memory(1000, 16), 500U);
  EXPECT_EQ(default_memory(16 * kGiB, 1), UINT64_MAX);
  EXPECT_EQ(default_memory(0, 16), UINT64_MAX) << "no device says what it has";
}

// Others may be able to write to the folder, and know which process comes next.
TEST(TraceFolder, FilesAreNewWhateverHasTheirNames) {
  const kit::TemporaryFolder folder;
  const std::string victim = folder.write("victim", "text");
  std::filesystem::create_symlink(victim, folder.file("1.json"));
  std::filesystem::create_hard_link(victim, folder.file("2.json"));
  ASSERT_EQ(::mkfifo(folder.file("3.json").c_str(), 0666), 0);
  folder.write("4.json", "an earlier process's");
  for (const pid_t process : {1, 2, 3, 4, 5}) {
    const base::FileDescriptor file = create_trace_file(folder.path(), process);
    ASSERT_TRUE(file.is_open()) << process;
    ASSERT_TRUE(base::write_all(file.get(), "trace"));
    struct stat status {};
    ASSERT_EQ(::lstat(folder.file(std::to_string(process) + ".json").c_str(), &status), 0);
    EXPECT_TRUE(S_ISREG(status.st_mode)) << process;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << process;
    EXPECT_EQ(status.st_nlink, 1U) << process;
    EXPECT_EQ(status.st_size, 5) << process;
  }
  EXPECT_EQ(kit::file_contents(victim), "text");
  std::filesystem::create_directory(folder.file("6.json"));
  EXPECT_FALSE(create_trace_file(folder.path(), 6).is_open());
}

TEST(TraceFolder, MustBeThere) {
  const kit::TemporaryFolder folder;
  EXPECT_EQ(problem_of_trace_folder(folder.path()), "");
  EXPECT_NE(problem_of_trace_folder(folder.file("none")), "");
  EXPECT_EQ(problem_of_trace_folder(folder.write("file", "")), "not a folder");
}

TEST(ServerStatistics, IsPrometheusText) {
  const FrontCounters counters;
  ServerStatistics tally(counters);
  tally.violations = 3;
  const std::string text = tally.as_text();
  EXPECT_NE(text.find("# TYPE cleave_server_protocol_violations_total "
                      "counter\ncleave_server_protocol_violations_total 3\n"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave::remote::server
