// Clocks of two hosts are aligned within the bound that is stated, and traces become one file without arrows that dangle.

#include "observe/trace_merge.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/clock_alignment.h"
#include "observe/trace_lines.h"
#include "tests/kit/temporary_folder.h"

namespace cleave::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kSecond = 1'000'000'000;

// Two clocks: the server's is ahead by `offset`, and faster by `drift` ns per ms.
struct Hosts {
  std::int64_t offset;
  std::int64_t drift;
  [[nodiscard]] std::int64_t server(std::int64_t client) const {
    return client + offset + client / 1'000'000 * drift + client % 1'000'000 * drift / 1'000'000;
  }
};

struct Network {
  std::int64_t there;   // ns, at least
  std::int64_t back;    // the same for the way back
  std::int64_t jitter;  // up to so much more, now and then
};

std::vector<ClockExchange> exchanges(const Hosts& hosts, const Network& network, unsigned seed) {
  std::mt19937 random(seed);
  const auto delay = [&](std::int64_t least) {
    return random() % 4 == 0 ? least : least + static_cast<std::int64_t>(random() % (network.jitter + 1));
  };
  std::vector<ClockExchange> all;
  for (std::int64_t sent = 0; sent < 20 * kSecond; sent += kSecond / 20) {
    const std::int64_t arrives = sent + delay(network.there);
    all.push_back({sent, hosts.server(arrives), arrives + delay(network.back)});
  }
  return all;
}

// The largest distance from the truth, of a server's times on the client's clock. Each is within its own bound.
std::int64_t worst(const Hosts& hosts, const std::vector<ClockExchange>& all) {
  const auto alignment = ClockAlignment::of_client(all);
  const auto reverse = ClockAlignment::of_server(all);
  EXPECT_TRUE(alignment && reverse);
  if (!alignment || !reverse) return INT64_MAX;
  const std::int64_t stated = alignment->worst_error(hosts.server(0), hosts.server(20 * kSecond));
  std::int64_t worst = 0;
  for (std::int64_t client = 0; client <= 20 * kSecond; client += 7'777'777) {
    const auto there = alignment->at(hosts.server(client));
    const std::int64_t wrong = std::abs(hosts.server(client) + there.ahead - client);
    EXPECT_LE(wrong, there.error) << client;
    EXPECT_LE(there.error, stated) << client;
    const auto back = reverse->at(client);
    EXPECT_LE(std::abs(client + back.ahead - hosts.server(client)), back.error) << client;
    worst = std::max(worst, wrong);
  }
  return worst;
}

TEST(ClockAlignment, IsWithin20MicrosecondsThroughOffsetDriftAndJitter) {
  for (const std::int64_t drift : {-100, 0, 30, 180}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      const Hosts hosts{-3'000 * kSecond + 12'345, drift};
      const Network network{15 * kMicrosecond, 15 * kMicrosecond, 2'000 * kMicrosecond};
      EXPECT_LE(worst(hosts, exchanges(hosts, network, seed)), 20 * kMicrosecond) << drift;
    }
  }
}

TEST(ClockAlignment, StatedErrorHoldsOverUnequalWays) {
  const Hosts hosts{77 * kSecond, 50};
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Network network{5 * kMicrosecond, 400 * kMicrosecond, 100 * kMicrosecond};
    EXPECT_GT(worst(hosts, exchanges(hosts, network, seed)), 100 * kMicrosecond)
        << "it cannot be known better";
  }
}

TEST(ClockAlignment, RefusesExchangesThatContradictEachOther) {
  EXPECT_FALSE(ClockAlignment::of_client({}));
  EXPECT_FALSE(ClockAlignment::of_client({{0, 1000, 10}, {1'000'000, 9'001'000, 1'000'010}}));
  EXPECT_FALSE(ClockAlignment::of_server({{0, 1000, 10}, {1'000'000, 9'001'000, 1'000'010}}));
}

TEST(TraceLines, ReadsOneJsonObject) {
  const auto members =
      JsonMembers::of(R"( {"ph":"X", "ts":-12.5,"n":7,"args":{"a":[1,{"b":null}],"c":"}\""}} )");
  ASSERT_TRUE(members);
  EXPECT_EQ(members->string("ph"), "X");
  EXPECT_EQ(members->nanoseconds("ts"), -12'500);
  EXPECT_EQ(members->number("n"), 7);
  EXPECT_EQ(members->json("args"), R"({"a":[1,{"b":null}],"c":"}\""})");
  for (const char* wrong : {"", "{", "[]", R"({"a":1)", R"({"a":01})", R"({"a":1.})", R"({"a"})",
                            R"({"a":"\x"})", R"({"a":1}})", R"({"a":nul})", "{\"a\":\"\n\"}"})
    EXPECT_FALSE(JsonMembers::of(wrong)) << wrong;
  EXPECT_FALSE(JsonMembers::of(R"({"a":)" + std::string(100'000, '[')));
}

class TraceMerge : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& boot, const std::string& process,
                   const std::string& events, const std::string& end = "\n]\n") {
    const std::string path = folder_.file(name);
    std::ofstream(path) << "[\n"
                        << R"({"ph":"M","pid":7,"name":"process_name","args":{"name":"program"}})"
                        << ",\n"
                        << R"({"ph":"M","pid":7,"name":"cleave_origin","args":{"boot":")" << boot
                        << R"(","time_namespace":"","host":"host of )" << boot << R"(","process":")"
                        << process << "\"}}" << events << end;
    return path;
  }
  // A client that sends command 1 at 100 us, and knows that the server's clock is a second ahead, give or take 5 us.
  std::string client() {
    return file("client", "a", "7", R"(,
{"ph":"M","pid":7,"name":"cleave_exchange","args":{"session":"S","sent_ns":0,"server_ns":1000005000,"received_ns":10000}},
{"ph":"X","pid":7,"tid":8,"ts":100.000,"dur":9.000,"name":"clFinish","cat":"call","args":{"sent":"S:1 S:2"}})");
  }
  std::string server(const std::string& boot = "b", const std::string& end = "\n]\n") {
    return file("server", boot, "1", R"(,
{"ph":"M","pid":7,"name":"cleave_session","args":{"session":"S","role":"server"}},
{"ph":"X","pid":7,"tid":9,"ts":1000150.000,"dur":1.000,"name":"k","cat":"launch","args":{"launch":3,"command":1}},
{"ph":"X","pid":7,"tid":9,"ts":1000149.000,"dur":5.000,"name":"NDRange","cat":"request","args":{"command":1}},
{"ph":"X","pid":7,"tid":1073741825,"ts":1000160.000,"dur":5.000,"name":"k","cat":"device","args":{"launch":3}})",
                end);
  }
  MergedTrace merge(const std::vector<std::string>& files) { return merge_traces(out(), files); }
  std::string out() const { return folder_.file("merged"); }
  std::string text() const { return kit::file_contents(out()); }

  const kit::TemporaryFolder folder_;
};

TEST_F(TraceMerge, ConnectsTheCallWithTheDeviceOnOneClock) {
  const MergedTrace merged = merge({client(), server()});
  ASSERT_EQ(merged.problem, "");
  EXPECT_EQ(merged.processes, 2U);
  EXPECT_EQ(merged.arrows, 1U) << "command 2 is not in the server's trace";
  EXPECT_EQ(std::system(("python3 -m json.tool " + out() + " > /dev/null").c_str()), 0);
  EXPECT_THAT(text(), HasSubstr(R"({"ph":"s","pid":7,"tid":8,"ts":100.000,"id":1)"));
  EXPECT_THAT(text(), HasSubstr(R"({"ph":"t","pid":4194305,"tid":9,"ts":149.000,"id":1)"));
  EXPECT_THAT(text(), HasSubstr(R"({"ph":"f","pid":4194305,"tid":1073741825,"ts":160.000,"id":1)"));
  EXPECT_THAT(text(), HasSubstr("within 5."));
  ASSERT_EQ(merged.clocks.size(), 1U);
  EXPECT_EQ(merge({server(), client()}).problem, "") << "also the other way round";
}

TEST_F(TraceMerge, OneHostsClockIsNotAligned) {
  const MergedTrace merged = merge({client(), server("a")});
  ASSERT_EQ(merged.problem, "");
  EXPECT_TRUE(merged.clocks.empty());
  EXPECT_THAT(text(), HasSubstr(R"("ts":1000160.000)"));
}

TEST_F(TraceMerge, ReadsAFileThatWasCutOffAnywhere) {
  const std::string whole = kit::file_contents(server());
  const std::size_t first = whole.find("cleave_session");
  for (std::size_t size = first; size < whole.size(); ++size) {
    const std::string path = server();
    std::ofstream(path) << whole.substr(0, size);
    ASSERT_EQ(merge({path}).problem, "") << size;
    ASSERT_TRUE(JsonMembers::of(R"({"all":)" + text() + "}")) << size;
  }
}

// One that does not trace, or is of a version that cannot.
TEST_F(TraceMerge, SaysWhoseSideIsMissing) {
  const std::string alone = file("alone", "a", "7", R"(,
{"ph":"M","pid":7,"name":"cleave_untraced","args":{"server":"gpu-host"}},
{"ph":"X","pid":7,"tid":8,"ts":100.000,"dur":9.000,"name":"clFinish","cat":"call"})");
  const MergedTrace merged = merge({alone, server("a")});
  ASSERT_EQ(merged.problem, "");
  EXPECT_EQ(merged.arrows, 0U);
  EXPECT_THAT(merged.notes,
              testing::ElementsAre(HasSubstr("alone: the server on gpu-host has traced nothing"),
                                   HasSubstr("server: no file is of its client")));
  EXPECT_THAT(text(), HasSubstr("clFinish"));
  EXPECT_TRUE(merge({client(), server()}).notes.empty());
  EXPECT_THAT(merge({alone, server("b")}).problem, HasSubstr("server: its clock cannot be aligned"));
  const std::string older = folder_.write(
      "older", "[\n{\"ph\":\"M\",\"pid\":7,\"name\":\"process_name\",\"args\":{\"name\":\"p\"}}\n]\n");
  EXPECT_THAT(merge({alone, older}).problem, HasSubstr("older: does not say whose clock"));
}

// What any file may say: neither too large a number nor a link does harm.
TEST_F(TraceMerge, RefusesTimesThatAreNone) {
  for (const char* time : {"9223372036854775.807", "-9223372036854775.808", "600000000000000.000"}) {
    const std::string event = std::string(R"(,
{"ph":"X","pid":7,"tid":8,"ts":)") +
                              time + R"(,"dur":1.000,"name":"k","cat":"call"},
{"ph":"X","pid":7,"tid":8,"ts":1.000,"dur":1.000,"name":"k","cat":"call"})";
    EXPECT_THAT(merge({file("far", "a", "7", event)}).problem, HasSubstr("line 4 is not an event")) << time;
  }
  const std::string far = file("client", "a", "7", R"(,
{"ph":"M","pid":7,"name":"cleave_exchange","args":{"session":"S","sent_ns":-9223372036854775807,"server_ns":9223372036854775807,"received_ns":0}},
{"ph":"M","pid":7,"name":"cleave_exchange","args":{"session":"S","sent_ns":-500000000000000000,"server_ns":500000000000000000,"received_ns":-500000000000000000}})");
  EXPECT_EQ(merge({far, server()}).problem, "");
  EXPECT_EQ(merge({server(), far}).problem, "");
}

TEST_F(TraceMerge, WritesIntoNoOtherFile) {
  const std::string only = server();
  const std::string before = kit::file_contents(only);
  EXPECT_THAT(merge_traces(only, {client(), only}).problem, HasSubstr("is one of the traces"));
  EXPECT_EQ(kit::file_contents(only), before);
  const std::string victim = folder_.write("victim", "text");
  std::filesystem::create_symlink(victim, out() + ".part");
  EXPECT_EQ(merge({only}).problem, "");
  EXPECT_EQ(kit::file_contents(victim), "text");
  EXPECT_FALSE(std::filesystem::exists(out() + ".part"));
}

TEST_F(TraceMerge, SaysWhatIsWrongAndWritesNothing) {
  const std::string other = file("other", "c", "1", "");
  EXPECT_THAT(merge({client(), other}).problem, HasSubstr("cannot be aligned"));
  std::ofstream(other) << "{\"traceEvents\":[]}";
  EXPECT_THAT(merge({other}).problem, HasSubstr("no trace of Cleave's"));
  EXPECT_THAT(merge({other + ".none"}).problem, HasSubstr("cannot be read"));
  EXPECT_THAT(merge({file("bad", "a", "1", ",\nnonsense,\n{\"ph\":\"M\",\"pid\":7}")}).problem,
              HasSubstr("line 4 is not an event"));
  EXPECT_EQ(text(), "");
}

TEST_F(TraceMerge, EachDeviceHasARowThatShowsWhoHasIt) {
  const auto holder = [&](const char* name, const char* times) {
    return file(name, "a", name,
                std::string(R"(,
{"ph":"M","pid":7,"tid":1073741826,"name":"thread_name","args":{"name":"turns on GPU"}},
{"ph":"X","pid":7,"tid":1073741826,)") +
                    times + R"(,"name":"has the device","cat":"turn","args":{"device":"d"}})");
  };
  const MergedTrace merged =
      merge({holder("1", R"("ts":1.000,"dur":4.000)"), holder("2", R"("ts":4.500,"dur":2.000)")});
  ASSERT_EQ(merged.problem, "");
  EXPECT_THAT(text(), HasSubstr(R"("args":{"name":"devices of host of a"})"));
  EXPECT_THAT(text(), HasSubstr(R"("ts":1.000,"dur":3.500,"name":"program 7","cat":"holder")"));
  EXPECT_THAT(text(), HasSubstr(R"("ts":4.500,"dur":2.000,"name":"program 4194305","cat":"holder")"));
}

}  // namespace
}  // namespace cleave::observe
