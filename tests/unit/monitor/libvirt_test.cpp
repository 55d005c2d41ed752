// The real libvirt, with its test driver: all connections of a process to test:///default see the same
// domains.
#include "monitor/hypervisor/libvirt.h"

#include <dlfcn.h>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "monitor/hypervisor/watcher.h"
#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"

#include <libvirt/libvirt.h>

namespace {

const char* presented_type = nullptr;  // what connections say they are; null: the truth

}  // namespace

// In place of libvirt's: there is no Xen here.
extern "C" const char* virConnectGetType(virConnectPtr connection) {
  if (presented_type != nullptr) return presented_type;
  static const auto real =
      reinterpret_cast<decltype(&virConnectGetType)>(dlsym(RTLD_NEXT, "virConnectGetType"));
  return real(connection);
}

namespace cleave::monitor {
namespace {

constexpr const char* kUri = "test:///default";

class EventLog : public HypervisorEvents {
 public:
  void changed(const Uuid& /*domain*/, bool running) override {
    const std::lock_guard lock(mutex_);
    text_ += running ? '+' : '-';
  }
  void lost(const std::string& /*why*/) override {}
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class LibvirtTest : public testing::Test {
 protected:
  LibvirtTest() : owner_(virConnectOpen(kUri)) {}
  ~LibvirtTest() override {
    if (domain_ != nullptr) virDomainFree(domain_);
    virConnectClose(owner_);
  }

  void define(const std::string& name, const std::string& uuid = "") {
    if (domain_ != nullptr) virDomainFree(domain_);
    const std::string xml = "<domain type='test'><name>" + name + "</name>" + uuid +
                            "<memory>8192</memory><os><type>hvm</type></os></domain>";
    domain_ = virDomainDefineXML(owner_, xml.c_str());
    ASSERT_NE(domain_, nullptr);
  }

  Libvirt libvirt_;  // before any connection is opened
  virConnectPtr owner_;
  virDomainPtr domain_ = nullptr;
};

TEST_F(LibvirtTest, EventsReportStartAndStop) {
  define("events");
  const auto seen = std::make_shared<EventLog>();
  const auto session = libvirt_.connect(kUri, seen);
  ASSERT_EQ(virDomainCreate(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return seen->text() == "+"; }));
  ASSERT_EQ(virDomainSuspend(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return seen->text() == "+-"; }));
  ASSERT_EQ(virDomainResume(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return seen->text() == "+-+"; }));
  ASSERT_EQ(virDomainDestroy(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return seen->text() == "+-+-"; }));
}

TEST_F(LibvirtTest, ListsRunningDomainsOnly) {
  define("listed");
  const auto session = libvirt_.connect(kUri, std::make_shared<EventLog>());
  const std::size_t before = session->running().size();
  ASSERT_EQ(virDomainCreate(domain_), 0);
  EXPECT_EQ(session->running().size(), before + 1);
  ASSERT_EQ(virDomainSuspend(domain_), 0);
  EXPECT_EQ(session->running().size(), before);
  ASSERT_EQ(virDomainResume(domain_), 0);
  EXPECT_EQ(session->running().size(), before + 1);
  ASSERT_EQ(virDomainDestroy(domain_), 0);
  EXPECT_EQ(session->running().size(), before);
}

TEST_F(LibvirtTest, ReadsCpuTimes) {
  const auto session = libvirt_.connect(kUri, std::make_shared<EventLog>());
  const auto first = session->cpu_times();
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first.size(), session->running().size());
  EXPECT_GT(first.front().used.count(), 0);
}

TEST_F(LibvirtTest, WatcherFollowsChanges) {
  define("watched");
  std::mutex mutex;
  Report newest;
  const auto sink = [&](const Report& report) {
    const std::lock_guard lock(mutex);
    newest = report;
  };
  const auto counts = [&](unsigned running) {
    return kit::eventually([&] {
      const std::lock_guard lock(mutex);
      return newest.counts && newest.counts->running == running;
    });
  };
  WatcherOptions options;
  options.interval = std::chrono::hours(1000);
  Watcher watcher(libvirt_, kUri, options, sink);
  ASSERT_TRUE(counts(1));  // the driver brings one
  ASSERT_EQ(virDomainCreate(domain_), 0);
  EXPECT_TRUE(counts(2));
  ASSERT_EQ(virDomainSuspend(domain_), 0);
  EXPECT_TRUE(counts(1));
  ASSERT_EQ(virDomainResume(domain_), 0);
  EXPECT_TRUE(counts(2));
  ASSERT_EQ(virDomainDestroy(domain_), 0);
  EXPECT_TRUE(counts(1));
}

// As libvirt's driver for Xen lists it, by another name; other drivers may have a guest of that identifier.
TEST_F(LibvirtTest, TheControlDomainIsNoGuestWhereThereIsOne) {
  const kit::TemporaryFolder folder;
  const auto domain = [](const char* name, const char* uuid) {
    return std::string("<domain type='test'><name>") + name + "</name><uuid>" + uuid +
           "</uuid><memory>8192</memory><os><type>hvm</type></os></domain>";
  };
  std::ofstream(folder.file("node.xml"))
      << "<node>" << domain("control", "00000000-0000-0000-0000-000000000000")
      << domain("Domain-0", "11111111-2222-3333-4444-555555555555") << "</node>";
  const std::string uri = "test://" + folder.file("node.xml");
  for (const char* type : {"Test", "Xen"}) {
    const std::size_t guests = std::string_view(type) == "Xen" ? 1 : 2;
    presented_type = type;
    const auto session = libvirt_.connect(uri, std::make_shared<EventLog>());
    EXPECT_EQ(session->running().size(), guests);
    EXPECT_EQ(session->cpu_times().size(), guests);
  }
  presented_type = nullptr;
}

TEST_F(LibvirtTest, TheControlDomainHasNoEventsWhereThereIsOne) {
  define("control", "<uuid>00000000-0000-0000-0000-000000000000</uuid>");
  const auto as_any = std::make_shared<EventLog>();
  const auto any = libvirt_.connect(kUri, as_any);
  presented_type = "Xen";
  const auto as_xen = std::make_shared<EventLog>();
  const auto xen = libvirt_.connect(kUri, as_xen);
  presented_type = nullptr;
  ASSERT_EQ(virDomainCreate(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return as_any->text() == "+"; }));
  ASSERT_EQ(virDomainDestroy(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return as_any->text() == "+-"; }));
  define("guest");
  ASSERT_EQ(virDomainCreate(domain_), 0);
  EXPECT_TRUE(kit::eventually([&] { return as_xen->text() == "+"; }));
  ASSERT_EQ(virDomainDestroy(domain_), 0);
}

TEST_F(LibvirtTest, TestDriverReadsDomainsFromAFile) {
  const kit::TemporaryFolder folder;
  std::ofstream file(folder.file("node.xml"));
  file << "<node>";
  for (int i = 0; i < 5; ++i) {
    // Every second one is paused: VIR_DOMAIN_PAUSED is 3.
    file << "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'><name>d" << i
         << "</name><memory>8192</memory><os><type>hvm</type></os><test:runstate>" << (i % 2 == 0 ? 1 : 3)
         << "</test:runstate></domain>";
  }
  file << "</node>" << std::flush;
  const auto session = libvirt_.connect("test://" + folder.file("node.xml"), std::make_shared<EventLog>());
  EXPECT_EQ(session->running().size(), 3U);
}

TEST_F(LibvirtTest, FailedConnectionGivesAReason) {
  for (const char* uri : {"nonsense:///x", "test:///no/such/file"}) {
    try {
      libvirt_.connect(uri, std::make_shared<EventLog>());
      ADD_FAILURE() << uri;
    } catch (const HypervisorError& error) {
      EXPECT_NE(std::string(error.what()), "") << uri;
    }
  }
}

TEST_F(LibvirtTest, EventSinkIsReleased) {
  const auto seen = std::make_shared<EventLog>();
  libvirt_.connect(kUri, seen).reset();
  EXPECT_TRUE(kit::eventually([&] { return seen.use_count() == 1; }));
}

}  // namespace
}  // namespace cleave::monitor
