#include <optional>
#include <utility>

#include "monitor/libvirt.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

namespace cleave::monitor {
namespace {

// A libvirtd that does not answer is given up after (count + 1) intervals, 6 s.
constexpr int kKeepaliveSeconds = 2;
constexpr unsigned kKeepaliveCount = 2;

struct CloseConnection {
  void operator()(virConnectPtr connection) const { virConnectClose(connection); }
};
using Connection = std::unique_ptr<virConnect, CloseConnection>;

class DomainList {
 public:
  DomainList(virConnectPtr connection, unsigned flags)
      : count_(virConnectListAllDomains(connection, &domains_, flags)) {
    if (count_ < 0) throw HypervisorError(virGetLastErrorMessage());
  }
  DomainList(const DomainList&) = delete;
  DomainList& operator=(const DomainList&) = delete;
  ~DomainList() {
    for (int i = 0; i < count_; ++i) virDomainFree(domains_[i]);
    free(domains_);  // NOLINT(cppcoreguidelines-no-malloc): libvirt's documentation asks for it
  }

  [[nodiscard]] int size() const { return count_; }
  virDomainPtr operator[](int i) const { return domains_[i]; }

 private:
  virDomainPtr* domains_ = nullptr;
  int count_;
};

class StatsList {
 public:
  StatsList(virConnectPtr connection, unsigned what, unsigned flags)
      : count_(virConnectGetAllDomainStats(connection, what, &records_, flags)) {}
  StatsList(const StatsList&) = delete;
  StatsList& operator=(const StatsList&) = delete;
  ~StatsList() {
    if (records_ != nullptr) virDomainStatsRecordListFree(records_);
  }

  // False where the hypervisor has no such statistics.
  [[nodiscard]] bool exists() const { return count_ >= 0; }
  [[nodiscard]] int size() const { return count_; }
  virDomainStatsRecord& operator[](int i) const { return *records_[i]; }

 private:
  virDomainStatsRecordPtr* records_ = nullptr;
  int count_;
};

std::optional<Uuid> uuid_of(virDomainPtr domain) {
  Uuid uuid{};
  return virDomainGetUUID(domain, uuid.data()) == 0 ? std::optional(uuid) : std::nullopt;
}

// Whether the domain runs after the event; empty for events that do not change that.
std::optional<bool> runs_after(int event) {
  switch (event) {
    case VIR_DOMAIN_EVENT_STARTED:
    case VIR_DOMAIN_EVENT_RESUMED:
      return true;
    case VIR_DOMAIN_EVENT_SUSPENDED:
    case VIR_DOMAIN_EVENT_STOPPED:
    case VIR_DOMAIN_EVENT_SHUTDOWN:
    case VIR_DOMAIN_EVENT_PMSUSPENDED:
    case VIR_DOMAIN_EVENT_CRASHED:
      return false;
    default:
      return std::nullopt;
  }
}

const char* close_reason_text(int close_reason) {
  switch (close_reason) {
    case VIR_CONNECT_CLOSE_REASON_EOF:
      return "it closed the connection";
    case VIR_CONNECT_CLOSE_REASON_KEEPALIVE:
      return "it does not answer";
    case VIR_CONNECT_CLOSE_REASON_ERROR:
      return "the connection broke";
    default:
      return "the connection was closed";
  }
}

// A callback may still be running when it is deregistered, so each registration shares ownership of the events.
using SharedEvents = std::shared_ptr<HypervisorEvents>;

void free_events(void* share) { delete static_cast<SharedEvents*>(share); }

int on_lifecycle(virConnectPtr /*connection*/, virDomainPtr domain, int event, int /*detail*/, void* share) {
  const auto runs = runs_after(event);
  const auto uuid = uuid_of(domain);
  if (runs && uuid) (*static_cast<SharedEvents*>(share))->changed(*uuid, *runs);
  return 0;
}

void on_close(virConnectPtr /*connection*/, int reason, void* events) {
  static_cast<HypervisorEvents*>(events)->lost(close_reason_text(reason));
}

std::optional<std::chrono::nanoseconds> cpu_time_of(const virDomainStatsRecord& record) {
  unsigned long long used = 0;
  if (virTypedParamsGetULLong(record.params, record.nparams, "cpu.time", &used) == 1) {
    return std::chrono::nanoseconds(used);
  }
  virDomainInfo info{};
  if (virDomainGetInfo(record.dom, &info) == 0) return std::chrono::nanoseconds(info.cpuTime);
  return std::nullopt;
}

// "vcpu.N.NAME"; empty if the record has none.
std::optional<std::chrono::nanoseconds> vcpu_time(const virDomainStatsRecord& record, unsigned vcpu,
                                                  const char* name) {
  unsigned long long time = 0;
  const std::string field = "vcpu." + std::to_string(vcpu) + "." + name;
  if (virTypedParamsGetULLong(record.params, record.nparams, field.c_str(), &time) != 1) return std::nullopt;
  return std::chrono::nanoseconds(time);
}

// Summed over the virtual processors that have ever waited; empty if none has a waiting time.
std::optional<SchedulerTimes> scheduler_times_of(const virDomainStatsRecord& record, const Uuid& domain) {
  unsigned processors = 0;
  virTypedParamsGetUInt(record.params, record.nparams, "vcpu.maximum", &processors);
  SchedulerTimes times{domain};
  bool known = false;
  for (unsigned i = 0; i < processors; ++i) {
    const auto ran = vcpu_time(record, i, "time");
    auto waited = vcpu_time(record, i, "delay");
    if (!waited) waited = vcpu_time(record, i, "wait");
    // Where the kernel does not count it, "wait" is there, and 0.
    if (waited == std::chrono::nanoseconds(0)) continue;
    if (!ran || !waited) continue;  // offline, for example
    times.ran += *ran;
    times.waited += *waited;
    known = true;
  }
  return known ? std::optional(times) : std::nullopt;
}

class LibvirtConnection : public HypervisorConnection {
 public:
  LibvirtConnection(const std::string& uri, SharedEvents events)
      : events_(std::move(events)), connection_(virConnectOpenReadOnly(uri.c_str())) {
    if (!connection_) throw HypervisorError(virGetLastErrorMessage());
    // Not every libvirt driver has keepalive, a close callback or events. Listings notice changes then, a little later.
    virConnectSetKeepAlive(connection_.get(), kKeepaliveSeconds, kKeepaliveCount);
    // Called under a lock that deregistering takes as well, so no call comes after that.
    close_callback_registered_ =
        virConnectRegisterCloseCallback(connection_.get(), on_close, events_.get(), nullptr) == 0;
    auto for_lifecycle = std::make_unique<SharedEvents>(events_);
    lifecycle_ = virConnectDomainEventRegisterAny(connection_.get(), nullptr, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                                  VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle),
                                                  for_lifecycle.get(), free_events);
    if (lifecycle_ >= 0) static_cast<void>(for_lifecycle.release());
  }
  LibvirtConnection(const LibvirtConnection&) = delete;
  LibvirtConnection& operator=(const LibvirtConnection&) = delete;
  ~LibvirtConnection() override {
    // Registered callbacks keep a connection open.
    if (lifecycle_ >= 0) virConnectDomainEventDeregisterAny(connection_.get(), lifecycle_);
    if (close_callback_registered_) virConnectUnregisterCloseCallback(connection_.get(), on_close);
  }

  std::vector<Uuid> running() override {
    const DomainList domains(connection_.get(), VIR_CONNECT_LIST_DOMAINS_RUNNING);
    std::vector<Uuid> uuids;
    for (int i = 0; i < domains.size(); ++i) {
      if (const auto uuid = uuid_of(domains[i])) uuids.push_back(*uuid);
    }
    return uuids;
  }

  std::vector<CpuTime> cpu_times() override {
    const StatsList stats(
        connection_.get(), VIR_DOMAIN_STATS_CPU_TOTAL,
        VIR_CONNECT_GET_ALL_DOMAINS_STATS_RUNNING | VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
    std::vector<CpuTime> times;
    if (!stats.exists()) return times;
    for (int i = 0; i < stats.size(); ++i) {
      const auto uuid = uuid_of(stats[i].dom);
      const auto used = cpu_time_of(stats[i]);
      if (uuid && used) times.push_back({*uuid, *used});
    }
    return times;
  }

  std::vector<SchedulerTimes> scheduler_times() override {
    const StatsList stats(
        connection_.get(), VIR_DOMAIN_STATS_VCPU,
        VIR_CONNECT_GET_ALL_DOMAINS_STATS_RUNNING | VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
    std::vector<SchedulerTimes> times;
    if (!stats.exists()) return times;
    for (int i = 0; i < stats.size(); ++i) {
      const auto uuid = uuid_of(stats[i].dom);
      const auto found = uuid ? scheduler_times_of(stats[i], *uuid) : std::nullopt;
      if (found) times.push_back(*found);
    }
    return times;
  }

 private:
  SharedEvents events_;
  Connection connection_;
  bool close_callback_registered_ = false;
  int lifecycle_ = -1;
};

}  // namespace

std::unique_ptr<HypervisorConnection> Libvirt::connect(const std::string& uri,
                                                       std::shared_ptr<HypervisorEvents> events) {
  return std::make_unique<LibvirtConnection>(uri, std::move(events));
}

}  // namespace cleave::monitor
