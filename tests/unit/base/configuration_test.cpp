#include "base/settings/configuration.h"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/settings/old_settings.h"
#include "base/settings/program_path.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::base {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigurationTest : public testing::Test {
 protected:
  std::string file_path() const { return folder_.file("cleave.toml"); }

  Configuration with_file(const std::string& text, std::map<std::string, std::string> variables = {}) {
    variables["CLEAVE_CONFIG"] = folder_.write("cleave.toml", text);
    return with(std::move(variables));
  }

  static Configuration with(const std::map<std::string, std::string>& variables) {
    return load([&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
  }

  static std::string origin_of(const Configuration& configuration, const std::string& key) {
    for (const auto& line : configuration.lines) {
      if (line.key == key) return line.origin;
    }
    return "(no such line)";
  }

  kit::TemporaryFolder folder_;
};

TEST_F(ConfigurationTest, DefaultsMatchTheSettingsTable) {
  const Configuration configuration = with({});
  EXPECT_TRUE(configuration.problems.empty());
  const Settings fresh;
  // The defaults in the table must equal those of a default-constructed Settings.
  for (const Setting& setting : settings_list()) {
    if (*setting.default_text == '\0') continue;
    Settings applied;
    EXPECT_TRUE(setting.apply(applied, setting.default_text)) << setting.key;
    EXPECT_EQ(applied.disable, fresh.disable);
    EXPECT_EQ(applied.policy.kind, fresh.policy.kind);
    EXPECT_EQ(applied.alpha, fresh.alpha);
    EXPECT_EQ(applied.min_items, fresh.min_items);
    EXPECT_EQ(applied.launch, fresh.launch);
    EXPECT_EQ(applied.vms.value_or(1), fresh.vms.value_or(1));
  }
}

TEST_F(ConfigurationTest, FileOverridesDefaultsAndOriginNamesItsLine) {
  const Configuration configuration = with_file(
      "[split]\npolicy = \"fixed:20\"\nalpha = 8\nmin_items = 0\ndeny = [\"scan_*\", \"sort\"]\nallow = "
      "[\"m*\"]\n"
      "[launch]\nmode = \"sequential\"\n[neighbours]\ncount = 5\n[observe]\nstats = \"stderr\"\n");
  EXPECT_THAT(configuration.problems, ElementsAre());
  const Settings& settings = configuration.settings;
  EXPECT_EQ(settings.policy.kind, SplitPolicy::Kind::fixed);
  EXPECT_EQ(settings.policy.slices, 20U);
  EXPECT_EQ(settings.alpha, 8U);
  EXPECT_EQ(settings.min_items, 0U);
  EXPECT_THAT(settings.deny, ElementsAre("scan_*", "sort"));
  EXPECT_THAT(settings.allow, ElementsAre("m*"));
  EXPECT_EQ(settings.launch, LaunchMode::sequential);
  EXPECT_EQ(settings.vms, 5U);
  EXPECT_EQ(settings.stats, "stderr");
  EXPECT_EQ(origin_of(configuration, "split.alpha"), file_path() + ":3");
  EXPECT_EQ(origin_of(configuration, "next"), "default");
}

TEST_F(ConfigurationTest, EnvironmentOverridesTheFile) {
  const Configuration configuration = with_file("[split]\nalpha = 8\n", {{"CLEAVE_ALPHA", "2"}});
  EXPECT_EQ(configuration.settings.alpha, 2U);
  EXPECT_EQ(origin_of(configuration, "split.alpha"), "CLEAVE_ALPHA");
}

TEST_F(ConfigurationTest, SettingsPerKernelAndPerDevice) {
  const Configuration configuration =
      with_file("[kernels.\"mm*\"]\nalpha = 2\n[devices.\"*H200*\"]\nalpha = 10\ncores = 16896\n");
  EXPECT_THAT(configuration.problems, ElementsAre());
  ASSERT_EQ(configuration.settings.kernels.size(), 1U);
  EXPECT_EQ(configuration.settings.kernels[0].pattern, "mm*");
  EXPECT_EQ(configuration.settings.kernels[0].alpha, 2U);
  ASSERT_EQ(configuration.settings.devices.size(), 1U);
  EXPECT_EQ(configuration.settings.devices[0].cores, 16896U);
}

constexpr const char* kTenants = R"(
[turns]
weight = 50
[limits]
memory = "1G"
[tenants."alice"]
weight = 300
cap = "30%,borrow"
priority = "high"
[tenants."bob"]
memory = "2G"
)";

TEST_F(ConfigurationTest, ATenantsTableReplacesWhatTheRestOfTheFileSays) {
  const Configuration alice = with_file(kTenants, {{"CLEAVE_TENANT", "alice"}});
  EXPECT_THAT(alice.problems, IsEmpty());
  EXPECT_EQ(alice.settings.limits.tenant, "alice");
  EXPECT_EQ(alice.settings.turns.weight, 300U);
  EXPECT_EQ(alice.settings.turns.priority, TurnPriority::high);
  EXPECT_EQ(alice.settings.limits.cap, (Cap{300, true}));
  EXPECT_EQ(alice.settings.limits.memory, std::uint64_t{1} << 30U);
  EXPECT_THAT(origin_of(alice, "turns.weight"), HasSubstr("cleave.toml:"));
  const Configuration bob = with_file(kTenants, {{"CLEAVE_TENANT", "bob"}});
  EXPECT_EQ(bob.settings.turns.weight, 50U);
  EXPECT_EQ(bob.settings.limits.memory, std::uint64_t{2} << 30U);
  const Configuration nobody = with_file(kTenants);
  EXPECT_EQ(nobody.settings.limits.cap, Cap{});
  EXPECT_EQ(nobody.settings.limits.memory, std::uint64_t{1} << 30U);
}

TEST_F(ConfigurationTest, TheFileMayNameTheTenantAndTheEnvironmentWins) {
  const Configuration configuration = with_file(
      std::string("limits.tenant = \"alice\"\n") + "[tenants.\"alice\"]\nweight = 300\ncap = \"30%\"\n",
      {{"CLEAVE_WEIGHT", "7"}});
  EXPECT_THAT(configuration.problems, IsEmpty());
  EXPECT_EQ(configuration.settings.turns.weight, 7U);
  EXPECT_EQ(configuration.settings.limits.cap.permille, 300U);
}

TEST_F(ConfigurationTest, MistakesInTheTableOfAnyTenantAreReported) {
  EXPECT_THAT(with_file("[tenants.\"bob\"]\nmemory = \"much\"\n").problems,
              ElementsAre(AllOf(HasSubstr("tenants.bob.memory=\"much\""), HasSubstr("512M or 2G"))));
  EXPECT_THAT(with_file("[tenants.\"bob\"]\nslices = 5\n").problems,
              ElementsAre(HasSubstr("expected weight, cap, memory or priority")));
  EXPECT_THAT(with_file("[tenants.\"b b\"]\nweight = 5\n").problems,
              ElementsAre(HasSubstr("a tenant's name has up to 63 letters")));
}

TEST_F(ConfigurationTest, AProgramsTablesReplaceWhatTheRestOfTheFileSays) {
  const std::string path = program_path();
  const Configuration configuration = with_file(
      "[turns]\nweight = 50\npriority = \"background\"\n[limits]\nmemory = \"1G\"\n"
      "[programs.\"base_*\"]\nweight = 300\ntenant = \"alice\"\ncap = \"20%\"\n"
      "[programs.\"" +
      path +
      "\"]\npriority = \"high\"\n"
      "[programs.\"other\"]\nmemory = \"2G\"\n[programs.\"/bin/base_test\"]\nweight = 7\n"
      "[tenants.\"alice\"]\ncap = \"30%\"\n");
  EXPECT_THAT(configuration.problems, IsEmpty());
  EXPECT_EQ(configuration.settings.turns.weight, 300U);
  EXPECT_EQ(configuration.settings.turns.priority, TurnPriority::high);
  EXPECT_EQ(configuration.settings.limits.memory, std::uint64_t{1} << 30U);
  EXPECT_EQ(configuration.settings.limits.tenant, "alice");
  EXPECT_EQ(configuration.settings.limits.cap.permille, 300U) << "a tenant's table comes last";
  EXPECT_EQ(origin_of(configuration, "turns.priority"), file_path() + ":11");
}

TEST_F(ConfigurationTest, TheEnvironmentWinsOverAProgramsTable) {
  const Configuration configuration =
      with_file("[programs.\"base_test\"]\nweight = 300\n", {{"CLEAVE_WEIGHT", "7"}});
  EXPECT_EQ(configuration.settings.turns.weight, 7U);
}

TEST_F(ConfigurationTest, MistakesInTheTableOfAnyProgramAreReported) {
  EXPECT_THAT(with_file("[programs.\"other\"]\nmemory = \"much\"\n").problems,
              ElementsAre(AllOf(HasSubstr("programs.other.memory=\"much\""), HasSubstr("512M or 2G"))));
  EXPECT_THAT(with_file("[programs.\"other\"]\nslices = 5\n").problems,
              ElementsAre(HasSubstr("expected weight, cap, memory, priority or tenant")));
}

TEST_F(ConfigurationTest, AlphaMayDependOnTheNumberOfVms) {
  const AlphaTable table = *AlphaTable::parse("1:10,2:7,4:4");
  EXPECT_EQ(with({{"CLEAVE_ALPHA", "1:10,2:7,4:4"}}).settings.alpha, table);
  const Configuration configuration = with_file(
      "[split]\nalpha = \"1:10,2:7,4:4\"\n[kernels.\"mm*\"]\nalpha = [\"1:10\", \"2:7\", \"4:4\"]\n"
      "[devices.\"*H200*\"]\nalpha = \"3:5\"\n");
  EXPECT_THAT(configuration.problems, ElementsAre());
  EXPECT_EQ(configuration.settings.alpha, table);
  ASSERT_EQ(configuration.settings.kernels.size(), 1U);
  EXPECT_EQ(configuration.settings.kernels[0].alpha, table);
  ASSERT_EQ(configuration.settings.devices.size(), 1U);
  EXPECT_EQ(configuration.settings.devices[0].alpha.of(1), 5U);
  EXPECT_THAT(with_file("[kernels.mm]\nalpha = \"2:7,1:3\"\n").problems,
              ElementsAre(HasSubstr("kernels.mm.alpha = \"2:7,1:3\": expected a whole number")));
}

TEST_F(ConfigurationTest, QuantumAcceptsFractionalMilliseconds) {
  using std::chrono::microseconds;
  for (const auto& [text, length] :
       std::map<std::string, microseconds>{{"quantum:5", microseconds(5000)},
                                           {"quantum:0.1", microseconds(100)},
                                           {"quantum:16.5", microseconds(16500)},
                                           {"quantum:60000", microseconds(60'000'000)}}) {
    const Configuration configuration = with({{"CLEAVE_SPLIT", text}});
    EXPECT_TRUE(configuration.problems.empty()) << text;
    EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::quantum);
    EXPECT_EQ(configuration.settings.policy.quantum, length);
  }
}

TEST_F(ConfigurationTest, PressureHasATarget) {
  const Configuration configuration = with({{"CLEAVE_SPLIT", "pressure:0.03"}});
  EXPECT_THAT(configuration.problems, ElementsAre());
  EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::pressure);
  EXPECT_DOUBLE_EQ(configuration.settings.policy.share, 0.03);
  EXPECT_TRUE(configuration.settings.policy.needs_vms());
  EXPECT_TRUE(configuration.settings.policy.needs_pressure());
  EXPECT_FALSE(with({{"CLEAVE_SPLIT", "budget"}}).settings.policy.needs_pressure());
}

TEST_F(ConfigurationTest, BudgetIsAFraction) {
  const Configuration configuration = with({{"CLEAVE_SPLIT", "budget:0.02"}});
  EXPECT_THAT(configuration.problems, ElementsAre());
  EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::budget);
  EXPECT_DOUBLE_EQ(configuration.settings.policy.budget, 0.02);
  EXPECT_DOUBLE_EQ(with({{"CLEAVE_SPLIT", "budget"}}).settings.policy.budget, 0.05);
}

TEST_F(ConfigurationTest, EmptyVariablesAreIgnored) {
  EXPECT_TRUE(with({{"CLEAVE_ALPHA", ""}, {"CLEAVE_CONFIG", ""}}).problems.empty());
}

// Each mistake: one line that names the setting and what is expected, and nothing is split.
struct Mistake {
  const char* variable;
  const char* value;
  const char* hint;
};

std::ostream& operator<<(std::ostream& out, const Mistake& mistake) {
  return out << mistake.variable << '=' << mistake.value;
}

class InvalidSetting : public ConfigurationTest, public testing::WithParamInterface<Mistake> {};

TEST_P(InvalidSetting, IsReportedInOneLineAndDisablesSplitting) {
  const auto [variable, value, hint] = GetParam();
  const Configuration configuration = with({{variable, value}});
  EXPECT_THAT(configuration.problems,
              ElementsAre(AllOf(HasSubstr(variable), HasSubstr(value), HasSubstr(hint),
                                HasSubstr("splitting is off until this is fixed"))));
  EXPECT_EQ(configuration.problems[0].find('\n'), std::string::npos);
  EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::off);
  EXPECT_EQ(configuration.settings.wait, WaitMode::native);
}

TEST_F(ConfigurationTest, ParsesWaitModes) {
  EXPECT_EQ(with({}).settings.wait, WaitMode::automatic);
  EXPECT_EQ(with({{"CLEAVE_WAIT", "native"}}).settings.wait, WaitMode::native);
  EXPECT_EQ(with({{"CLEAVE_WAIT", "sleeping"}}).settings.wait, WaitMode::sleeping);
  EXPECT_THAT(with({{"CLEAVE_WAIT", "sleeping"}}).notices, IsEmpty());
}

TEST_F(ConfigurationTest, RenamedValueIsAcceptedWithOneNotice) {
  const Configuration configuration = with({{"CLEAVE_WAIT", "polite"}});
  EXPECT_EQ(configuration.settings.wait, WaitMode::sleeping);
  EXPECT_THAT(configuration.problems, IsEmpty());
  EXPECT_THAT(configuration.notices,
              ElementsAre(AllOf(HasSubstr("CLEAVE_WAIT"), HasSubstr("polite"), HasSubstr("\"sleeping\""))));
  EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::alpha);
  EXPECT_FALSE(with({{"CLEAVE_REMOTE_PREFER", "auto"}}).settings.remote.first);
  EXPECT_THAT(with({{"CLEAVE_REMOTE_PREFER", "auto"}}).notices,
              ElementsAre(AllOf(HasSubstr("CLEAVE_REMOTE_PREFER=\"auto\""), HasSubstr("means \"local\""))));
}

// One line that names the setting and what holds now; it changes nothing, whatever the value.
TEST_F(ConfigurationTest, OldNamesAreAcceptedWithOneNotice) {
  for (const OldSetting& old : old_settings()) {
    if (old.apply != nullptr) continue;
    const auto one_line = ElementsAre(
        AllOf(HasSubstr(std::string(old.variable) + "=\"7\" is ignored"), HasSubstr(old.instead)));
    const Configuration by_variable = with({{old.variable, "7"}});
    EXPECT_THAT(by_variable.notices, one_line);
    EXPECT_THAT(by_variable.problems, IsEmpty());
    const Configuration by_file = with_file(std::string(old.key) + " = 7\n");
    EXPECT_THAT(by_file.notices,
                ElementsAre(AllOf(HasSubstr(":1: " + std::string(old.key)), HasSubstr(old.instead))));
    EXPECT_THAT(by_file.problems, IsEmpty());
  }
}

TEST_F(ConfigurationTest, OldNamesKeepTheirMeaningWhereThereIsANewOne) {
  const Configuration configuration =
      with_file("[neighbours]\nmonitor = \"tcp:host:1\"\nsource = [\"peers\", \"monitor\"]\n",
                {{"CLEAVE_SPLIT", "pressure:0.5"},
                 {"CLEAVE_BUDGET", "0.02"},
                 {"CLEAVE_COUNT_BY", "busy"},
                 {"CLEAVE_ICD_NAME", "cleave"},
                 {"CLEAVE_REMOTE_NAME", "original"},
                 {"CLEAVE_BINARIES", "trust"},
                 {"CLEAVE_MONITOR_TRUST", "system"},
                 {"CLEAVE_EXPLAIN", "yes"},
                 {"CLEAVE_REMOTE_KEY", "/key.pem"},
                 {"CLEAVE_REMOTE_REQUIRED", "yes"}});
  EXPECT_THAT(configuration.problems, IsEmpty());
  EXPECT_EQ(configuration.notices.size(), 10U);
  EXPECT_THAT(configuration.notices,
              testing::Contains(
                  "CLEAVE_BUDGET=\"0.02\": this name will be removed; write CLEAVE_SPLIT=budget:SHARE"));
  const Settings& settings = configuration.settings;
  EXPECT_DOUBLE_EQ(settings.policy.budget, 0.02);
  EXPECT_EQ(as_text(*settings.monitor), "tcp:host:1");
  EXPECT_EQ(settings.count_by, CountBy::busy);
  EXPECT_FALSE(settings.original_name);
  EXPECT_TRUE(settings.remote.original_name);
  EXPECT_TRUE(settings.trust_binaries);
  EXPECT_EQ(settings.monitor_trust, MonitorTrust::system);
  EXPECT_TRUE(settings.explain);
  EXPECT_EQ(settings.remote.key, "/key.pem");
  EXPECT_TRUE(settings.remote.required && !settings.remote.first);
  EXPECT_EQ(origin_of(configuration, "split.budget"), "CLEAVE_BUDGET");
}

INSTANTIATE_TEST_SUITE_P(
    Configuration, InvalidSetting,
    testing::Values(
        Mistake{"CLEAVE_ALPHA", "abc", "whole number"}, Mistake{"CLEAVE_ALPHA", "0", "from 1"},
        Mistake{"CLEAVE_ALPHA", "-1", "whole number"}, Mistake{"CLEAVE_ALPHA", "4 ", "whole number"},
        Mistake{"CLEAVE_ALPHA", "1e3", "whole number"},
        Mistake{"CLEAVE_ALPHA", "99999999999999999999", "whole number"},
        Mistake{"CLEAVE_SPLIT", "fixed", "fixed:N"}, Mistake{"CLEAVE_SPLIT", "fixed:0", "fixed:N"},
        Mistake{"CLEAVE_SPLIT", "fixed:x", "fixed:N"}, Mistake{"CLEAVE_SPLIT", "ALPHA", "alpha"},
        Mistake{"CLEAVE_SPLIT", "quantum", "quantum:MS"}, Mistake{"CLEAVE_SPLIT", "quantum:0", "from 0.1"},
        Mistake{"CLEAVE_SPLIT", "quantum:5ms", "quantum:MS"},
        Mistake{"CLEAVE_SPLIT", "quantum:-1", "quantum:MS"},
        Mistake{"CLEAVE_SPLIT", "quantum:.", "quantum:MS"},
        Mistake{"CLEAVE_SPLIT", "budget:5%", "budget:SHARE"},
        Mistake{"CLEAVE_SPLIT", "budget:5", "from 0.001 to 1"},
        Mistake{"CLEAVE_BUDGET", "nan", "such as 0.05"},
        Mistake{"CLEAVE_SPLIT", "pressure", "pressure:TARGET"},
        Mistake{"CLEAVE_SPLIT", "pressure:0", "from 0.01"}, Mistake{"CLEAVE_SPLIT", "pressure:1", "to 0.9"},
        Mistake{"CLEAVE_COUNT_BY", "idle", "running or busy"},
        Mistake{"CLEAVE_ALPHA", "2:4,1:5", "ascending"},
        Mistake{"CLEAVE_ALPHA", "1:4,", "such as 1:10,2:7,4:4"},
        Mistake{"CLEAVE_BUDGET", "0.0.5", "such as 0.05"}, Mistake{"CLEAVE_LAUNCH", "fast", "sequential"},
        Mistake{"CLEAVE_WAIT", "nicely", "sleeping"}, Mistake{"CLEAVE_VMS", "0", "from 1"},
        Mistake{"CLEAVE_NEIGHBOURS", "monitors", "file:PATH"},
        Mistake{"CLEAVE_NEIGHBOURS", "file:", "file:PATH"},
        Mistake{"CLEAVE_NEIGHBOURS", "unix:/a,unix:/b", "the address of one"},
        Mistake{"CLEAVE_NEIGHBOURS", "peers,", "commas"},
        Mistake{"CLEAVE_MONITOR", "tcp:host", "tcp:HOST:PORT"},
        Mistake{"CLEAVE_MONITOR", "tcp:host:0", "listens"},
        Mistake{"CLEAVE_MONITOR", "vsock:any:1", "listens"}, Mistake{"CLEAVE_MONITOR", "/run/x", "unix:PATH"},
        Mistake{"CLEAVE_REGISTRY", "here", "full path"}, Mistake{"CLEAVE_MIN_ITEMS", "many", "work-items"},
        Mistake{"CLEAVE_DISABLE", "maybe", "true"},
        Mistake{"CLEAVE_CONFIG", "/does/not/exist.toml", "name a TOML file"}));

TEST_F(ConfigurationTest, ErrorsInTheFileNameTheirLine) {
  const Configuration configuration =
      with_file("[split]\n\nalpha = \"x\"\nalpa = 3\n[kernels.mm]\nbeta = 1\n");
  EXPECT_THAT(configuration.problems,
              testing::UnorderedElementsAre(HasSubstr(file_path() + ":3: split.alpha"),
                                            HasSubstr(file_path() + ":4: split.alpa is not a setting"),
                                            HasSubstr(file_path() + ":6: kernels.mm.beta is not a setting")));
  EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::off);
}

TEST_F(ConfigurationTest, TomlSyntaxErrorNamesItsPosition) {
  EXPECT_THAT(with_file("[split\nalpha = 1\n").problems, ElementsAre(HasSubstr("line 1")));
  EXPECT_THAT(with_file(std::string((1 << 20) + 10, '#')).problems, ElementsAre(HasSubstr("larger than")));
}

// None of them is waited for or read to its end.
TEST_F(ConfigurationTest, WhatIsNoRegularFileIsReported) {
  const std::string pipe = file_path() + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::map<std::string, std::string> wrong = {
      {"/", "is a folder"}, {pipe, "is a pipe"}, {"/dev/zero", "is a device"}, {"/dev/tty", "is a device"}};
  for (const auto& [path, kind] : wrong) {
    const Configuration configuration = with({{"CLEAVE_CONFIG", path}});
    EXPECT_THAT(configuration.problems, ElementsAre(AllOf(HasSubstr("CLEAVE_CONFIG=\"" + path + "\" " + kind),
                                                          HasSubstr("name a TOML file or unset it"))));
    EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::off);
  }
}

TEST_F(ConfigurationTest, PipeInPlaceOfTheUsersFileIsReported) {
  const std::string home = folder_.file("home");
  ASSERT_EQ(mkdir(home.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((home + "/cleave").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo((home + "/cleave/cleave.toml").c_str(), 0600), 0);
  EXPECT_THAT(with({{"XDG_CONFIG_HOME", home}}).problems, ElementsAre(HasSubstr("cleave.toml is a pipe")));
}

TEST_F(ConfigurationTest, UnparsableFilesAreReported) {
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  for (const std::string& text : {deep + " = 1\n", std::string("a = 0x\u03CB\n"), std::string("[ = 1\n")}) {
    const Configuration configuration = with_file(text);
    EXPECT_EQ(configuration.problems.size(), 1U) << text.substr(0, 20);
    EXPECT_EQ(configuration.settings.policy.kind, SplitPolicy::Kind::off);
  }
}

TEST_F(ConfigurationTest, NonAsciiNamesAreKept) {
  const Configuration configuration = with_file("[split]\ndeny = [\"m\u00fcll 100%\"]\n");
  EXPECT_THAT(configuration.settings.deny, ElementsAre("m\u00fcll 100%"));
}

TEST_F(ConfigurationTest, SeveralNeighbourSourcesMayBeListed) {
  const Settings fresh = with({}).settings;
  EXPECT_TRUE(fresh.sources.monitor && !fresh.sources.peers && fresh.sources.files.empty());
  EXPECT_FALSE(fresh.vms || fresh.monitor);
  EXPECT_EQ(fresh.registry, "/dev/shm/cleave");

  const Configuration configuration = with_file(
      "[neighbours]\nsource = [\"peers\", \"file:/run/vms\", \"vsock:host:27460\", \"busy\"]\n"
      "registry = \"off\"\n");
  EXPECT_THAT(configuration.problems, ElementsAre());
  const Settings& settings = configuration.settings;
  EXPECT_TRUE(settings.sources.monitor && settings.sources.peers);
  EXPECT_EQ(settings.count_by, CountBy::busy);
  EXPECT_THAT(settings.sources.files, ElementsAre("/run/vms"));
  ASSERT_TRUE(settings.monitor.has_value());
  EXPECT_EQ(as_text(*settings.monitor), "vsock:2:27460");
  EXPECT_EQ(settings.registry, "");
}

TEST_F(ConfigurationTest, CacheDefaultsToTheUsersCacheFolder) {
  EXPECT_EQ(with({{"HOME", "/home/x"}}).settings.cache, "/home/x/.cache/cleave");
  EXPECT_EQ(with({{"HOME", "/home/x"}, {"XDG_CACHE_HOME", "/c"}}).settings.cache, "/c/cleave");
  EXPECT_EQ(with({{"HOME", "/home/x"}, {"CLEAVE_CACHE", "off"}}).settings.cache, "");
  EXPECT_EQ(with({{"CLEAVE_CACHE", "/d"}}).settings.cache, "/d");
  EXPECT_EQ(with({}).settings.cache, "");
}

}  // namespace
}  // namespace cleave::base
