#include "monitor/options.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/temporary_folder.h"

namespace cleave::monitor {
namespace {

class OptionsTest : public testing::Test {
 protected:
  // From a file with this text, and the command line of these words.
  Options read_with(const std::string& text, std::vector<const char*> words = {}) {
    const std::string path = folder_.write("monitord.toml", text);
    words.insert(words.begin(), {"cleave-monitord", "--config", path.c_str()});
    return read_options(words).value();
  }
  std::string error_text_with(const std::string& text, const std::vector<const char*>& words = {}) {
    try {
      read_with(text, words);
    } catch (const OptionError& error) {
      return error.what();
    }
    return "";
  }
  // The file is empty: the machine's own does not matter.
  Options read(const std::vector<const char*>& words) { return read_with("", words); }
  std::string error_text(const std::vector<const char*>& words) { return error_text_with("", words); }

  kit::TemporaryFolder folder_;
};

TEST_F(OptionsTest, Defaults) {
  const Options options = read({});
  EXPECT_EQ(options.connect, std::vector<std::string>{"qemu:///system"});
  EXPECT_TRUE(options.listen.empty());
  EXPECT_TRUE(options.metrics.empty());
  EXPECT_EQ(options.max_clients, 10'000U);
}

TEST_F(OptionsTest, SeveralHypervisorsAndAddresses) {
  const Options options =
      read({"--connect", "qemu:///system", "--connect", "xen:///system", "--listen", "unix:/a",
            "tcp:127.0.0.1:1", "--listen", "vsock:any:27460", "--metrics", "tcp:[::1]:9460"});
  EXPECT_EQ(options.connect.size(), 2U);
  ASSERT_EQ(options.listen.size(), 3U);
  EXPECT_EQ(as_text(options.listen[2]), "vsock:any:27460");
  EXPECT_EQ(options.metrics.size(), 1U);
}

TEST_F(OptionsTest, Values) {
  const Options options =
      read({"--socket-mode", "0640", "--socket-group", "kvm", "--max-clients", "7", "--heartbeat", "100",
            "--patience", "5000", "--interval", "1000", "--busy-share", "50"});
  EXPECT_EQ(options.socket_mode, 0640U);
  EXPECT_EQ(options.socket_group, "kvm");
  EXPECT_EQ(options.max_clients, 7U);
  EXPECT_EQ(options.heartbeat.count(), 100);
  EXPECT_EQ(options.patience.count(), 5000);
  EXPECT_EQ(options.interval.count(), 1000);
  EXPECT_EQ(options.busy_share, 0.5);
}

TEST_F(OptionsTest, InvalidValuesAreReportedWithTheExpectedFormat) {
  EXPECT_EQ(error_text({"--listen", "tcp:1"}),
            "--listen: 'tcp:1' is not understood; expected unix:PATH, tcp:IP:PORT or vsock:any:PORT");
  for (const auto& words : std::vector<std::vector<const char*>>{{"--connect", "qemu"},
                                                                 {"--metrics", "9460"},
                                                                 {"--socket-mode", "0888"},
                                                                 {"--socket-mode", "01777"},
                                                                 {"--socket-mode", "rw"},
                                                                 {"--max-clients", "0"},
                                                                 {"--max-clients", "many"},
                                                                 {"--heartbeat", "99"},
                                                                 {"--patience", "-1"},
                                                                 {"--interval", "1.5"},
                                                                 {"--busy-share", "101"}}) {
    const std::string said = error_text(words);
    EXPECT_TRUE(said.starts_with(std::string(words[0]) + ": '" + words[1] + "' is not understood; expected "))
        << said;
  }
}

TEST_F(OptionsTest, UnknownAndDuplicateOptionsAreErrors) {
  EXPECT_NE(error_text({"--frob"}).find("--frob"), std::string::npos);
  EXPECT_NE(error_text({"stray"}).find("stray"), std::string::npos);
  EXPECT_NE(error_text({"--heartbeat", "100", "--heartbeat", "200"}).find("--heartbeat"), std::string::npos);
  EXPECT_NE(error_text({"--listen"}).find("--listen"), std::string::npos);
}

TEST_F(OptionsTest, WildcardAddressNeedsPermission) {
  EXPECT_EQ(
      error_text({"--listen", "tcp:0.0.0.0:27460"}),
      "--listen: tcp:0.0.0.0:27460 is every network of this host; name one address, or add --allow-wildcard");
  EXPECT_NE(error_text({"--listen", "tcp:[::]:27460"}), "");
  EXPECT_EQ(error_text({"--listen", "tcp:0.0.0.0:27460", "--allow-wildcard"}), "");
  EXPECT_EQ(error_text({"--allow-wildcard", "--listen", "tcp:[::]:27460"}), "");
}

TEST_F(OptionsTest, HostNamesAreNotResolved) {
  EXPECT_NE(error_text({"--listen", "tcp:localhost:1"}).find("name the IP address"), std::string::npos);
}

TEST_F(OptionsTest, MetricsStayOnTheHost) {
  EXPECT_NE(error_text({"--metrics", "tcp:192.0.2.1:9460"}).find("loopback"), std::string::npos);
  EXPECT_NE(error_text({"--metrics", "tcp:0.0.0.0:9460", "--allow-wildcard"}).find("loopback"),
            std::string::npos);
  EXPECT_EQ(error_text({"--metrics", "unix:/run/metrics"}), "");
}

TEST_F(OptionsTest, FileUsesTheOptionNames) {
  const Options options = read_with(
      "connect = ['qemu:///system', 'lxc:///']\nlisten = 'tcp:0.0.0.0:1'\nallow-wildcard = true\n"
      "socket-mode = '0600'\nmax-clients = 12\n");
  EXPECT_EQ(options.connect, (std::vector<std::string>{"qemu:///system", "lxc:///"}));
  EXPECT_EQ(options.listen.size(), 1U);
  EXPECT_EQ(options.socket_mode, 0600U);
  EXPECT_EQ(options.max_clients, 12U);
}

TEST_F(OptionsTest, CommandLineOverridesTheFile) {
  const Options options =
      read_with("listen = ['unix:/a', 'unix:/b']\nheartbeat = 500\n", {"--listen", "unix:/c"});
  ASSERT_EQ(options.listen.size(), 1U);
  EXPECT_EQ(options.listen[0].path, "/c");
  EXPECT_EQ(options.heartbeat.count(), 500);
}

TEST_F(OptionsTest, FileErrorsNameTheirLine) {
  const std::string path = folder_.file("monitord.toml");
  EXPECT_EQ(error_text_with("\nheartbeat = 5\n"),
            path + ":2: heartbeat: '5' is not understood; expected milliseconds, from 100 to 3600000");
  EXPECT_EQ(error_text_with("# x\nlisten.to = 1\n"),
            path + ":2: listen.to: there is no such option; see cleave-monitord --help");
  EXPECT_NE(error_text_with("listen = [1]\n").find(path + ":1: listen: "), std::string::npos);
  EXPECT_NE(error_text_with("listen = \n").find("--config: " + path + ": line 1"), std::string::npos);
  EXPECT_NE(error_text_with("allow-wildcard = 1\n").find("expected true or false"), std::string::npos);
}

TEST_F(OptionsTest, SocketModeIsAStringInTheFile) {
  EXPECT_EQ(read_with("socket-mode = '660'\n").socket_mode, 0660U);
  for (const char* mode : {"0o660", "660", "0x1b0"}) {
    EXPECT_EQ(
        error_text_with(std::string("socket-mode = ") + mode),
        folder_.file("monitord.toml") +
            ":1: socket-mode: an integer is not understood as octal; write it as a string, such as \"0660\"");
  }
}

TEST_F(OptionsTest, MissingFileIsAnError) {
  std::vector<const char*> words{"cleave-monitord", "--config", "/no/such/file"};
  EXPECT_THROW(read_options(words), OptionError);
}

// The manuals are written by hand; this holds them against the list.
TEST(Manual, NamesEveryOption) {
  const std::string guide = kit::file_contents(CLEAVE_SOURCE "/docs/monitor.md");
  const std::string man = kit::file_contents(CLEAVE_SOURCE "/monitor/cleave-monitord.8");
  const std::string example = kit::file_contents(CLEAVE_SOURCE "/monitor/monitord.toml");
  Options options;
  for (const daemon::Option& entry : option_table(options)) {
    EXPECT_NE(guide.find(std::string("`--") + entry.name), std::string::npos) << entry.name;
    EXPECT_NE(man.find(std::string("\n.It Fl -") + entry.name), std::string::npos) << entry.name;
    EXPECT_NE(example.find(std::string("\n#") + entry.name + " = "), std::string::npos) << entry.name;
  }
}

}  // namespace
}  // namespace cleave::monitor
