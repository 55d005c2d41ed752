#include "base/settings/settings.h"

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/settings/old_settings.h"
#include "base/text/number.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::base {
namespace {

TEST(Settings, NamesAreUnique) {
  std::set<std::string> variables;
  std::set<std::string> keys;
  for (const Setting& setting : settings_list()) {
    EXPECT_TRUE(variables.insert(setting.variable).second) << setting.variable;
    EXPECT_TRUE(keys.insert(setting.key).second) << setting.key;
    EXPECT_TRUE(std::string(setting.variable).starts_with("CLEAVE_"));
  }
  for (const OldSetting& old : old_settings()) {
    EXPECT_TRUE(variables.insert(old.variable).second) << old.variable;
    EXPECT_TRUE(keys.insert(old.key).second) << old.key;
  }
}

TEST(Settings, EachIsDocumentedWithItsDefault) {
  const std::string text = kit::file_contents(CLEAVE_DOCS "/configuration.md");
  for (const Setting& setting : settings_list()) {
    const std::string default_text =
        *setting.default_text != '\0' ? std::string("`") + setting.default_text + "` " : "";
    const std::string row =
        std::string("\n| `") + setting.variable + "` | `" + setting.key + "` | " + default_text + "| ";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
  for (const OldSetting& old : old_settings()) {
    const std::string row = std::string("\n| `") + old.variable + "` | `" + old.key + "` | ";
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

TEST(Settings, PlatformNamesAreTheDriversOrMarked) {
  const Setting& names = *find_setting("platform_names");
  for (const auto& [value, vendor, remote] :
       {std::tuple("auto", true, false), std::tuple("original", true, true),
        std::tuple("marked", false, false)}) {
    Settings settings;
    EXPECT_TRUE(names.apply(settings, value));
    EXPECT_EQ(settings.original_name, vendor) << value;
    EXPECT_EQ(settings.remote.original_name, remote) << value;
  }
  Settings settings;
  EXPECT_FALSE(names.apply(settings, "cleave"));
}

TEST(Settings, StatisticsAndTheExplanationAreWantedIndependently) {
  const Setting& setting = *find_setting("observe.stats");
  for (const auto& [value, explain, stats] :
       {std::tuple("stderr", false, "stderr"), std::tuple("explain", true, "before"),
        std::tuple("explain,stderr", true, "stderr"), std::tuple("/explain,d", false, "/explain,d"),
        std::tuple("explained", false, "explained")}) {
    Settings settings;
    settings.stats = "before";
    EXPECT_TRUE(setting.apply(settings, value));
    EXPECT_EQ(settings.explain, explain) << value;
    EXPECT_EQ(settings.stats, stats) << value;
  }
}

TEST(Settings, BinariesAreAllowedNextToKernels) {
  Settings settings;
  EXPECT_TRUE(find_setting("split.allow")->apply(settings, "scan_*,binary:*"));
  EXPECT_TRUE(settings.trust_binaries);
  EXPECT_EQ(settings.allow, std::vector<std::string>{"scan_*"});
  EXPECT_TRUE(find_setting("split.allow")->apply(settings, "scan_*"));
  EXPECT_FALSE(settings.trust_binaries);
}

TEST(Settings, TrustInAMonitorHoldsUntilItIsNamedAgain) {
  const Setting& sources = *find_setting("neighbours.source");
  Settings settings;
  EXPECT_EQ(settings.monitor_trust, MonitorTrust::owner);
  EXPECT_TRUE(sources.apply(settings, "vsock:host:746,trust:system"));
  EXPECT_TRUE(sources.apply(settings, "busy"));
  EXPECT_EQ(settings.monitor_trust, MonitorTrust::system);
  EXPECT_TRUE(sources.apply(settings, "peers,trust:any"));
  EXPECT_EQ(settings.monitor_trust, MonitorTrust::any);
  EXPECT_TRUE(settings.sources.monitor);
  EXPECT_FALSE(sources.apply(settings, "trust:root"));
}

TEST(Settings, KeyIsTheSecondFileOfACertificate) {
  Settings settings;
  EXPECT_TRUE(find_setting("remote.cert")->apply(settings, "/c.pem,/k.pem"));
  EXPECT_EQ(settings.remote.certificate, "/c.pem");
  EXPECT_EQ(settings.remote.key, "/k.pem");
  EXPECT_TRUE(find_setting("remote.cert")->apply(settings, "/both.pem"));
  EXPECT_EQ(settings.remote.certificate, "/both.pem");
  EXPECT_EQ(settings.remote.key, "");
}

TEST(Settings, PatternsFollowShellGlobs) {
  EXPECT_TRUE(matches("scan_*", "scan_exclusive"));
  EXPECT_FALSE(matches("scan_*", "rescan_x"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("[", "x"));
}

TEST(WholeNumber, TakesDigitsOnly) {
  EXPECT_EQ(parse_unsigned("0", 0, 10), 0U);
  EXPECT_EQ(parse_unsigned("18446744073709551615", 0, UINT64_MAX), UINT64_MAX);
  for (const char* text : {"", "+1", "-1", " 1", "1 ", "0x10", "1.0", "18446744073709551616", "one"}) {
    EXPECT_FALSE(parse_unsigned(text, 0, UINT64_MAX)) << text;
  }
  EXPECT_FALSE(parse_unsigned("11", 0, 10));
}

}  // namespace
}  // namespace cleave::base
