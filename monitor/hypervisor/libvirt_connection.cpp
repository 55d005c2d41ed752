#include <optional>
#include <string_view>
#include <utility>

#include "monitor/hypervisor/libvirt.h"

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
    free(domains_);  // NOLINT(cppcoreguidelines-no-malloc): libvirt's documentation requires it
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

// Xen's Domain-0 runs the host and is no guest. Libvirt's driver for Xen lists it among the domains that run, with an
// identifier of zeros (libxlAddDom0 in libvirt's src/libxl/libxl_driver.c). Its name could be anything, and elsewhere
// so could that identifier.
bool has_control_domain(virConnectPtr connection) {
  const char* type = virConnectGetType(connection);
  if (type == nullptr) throw HypervisorError(virGetLastErrorMessage());
  return std::string_view(type) == "Xen";
}

// Empty for the control domain where there is one.
std::optional<Uuid> guest_uuid(virDomainPtr domain, bool has_control_domain) {
  Uuid uuid{};
  if (virDomainGetUUID(domain, uuid.data()) != 0) return std::nullopt;
  return has_control_domain && uuid == Uuid{} ? std::nullopt : std::optional(uuid);
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

struct LifecycleReceiver {
  SharedEvents events;
  bool has_control_domain;
};

void free_receiver(void* receiver) { delete static_cast<LifecycleReceiver*>(receiver); }

int on_lifecycle(virConnectPtr /*connection*/, virDomainPtr domain, int event, int /*detail*/,
                 void* receiver) {
  const auto& to = *static_cast<LifecycleReceiver*>(receiver);
  const auto runs = runs_after(event);
  const auto uuid = guest_uuid(domain, to.has_control_domain);
  if (runs && uuid) to.events->changed(*uuid, *runs);
  return 0;
}

void on_close(virConnectPtr /*connection*/, int reason, void* events) {
  static_cast<HypervisorEvents*>(events)->lost(close_reason_text(reason));
}

// "vcpu.N.NAME"; empty if the record has none.
std::optional<std::chrono::nanoseconds> vcpu_time(const virDomainStatsRecord& record, unsigned vcpu,
                                                  const char* name) {
  unsigned long long time = 0;
  const std::string field = "vcpu." + std::to_string(vcpu) + "." + name;
  if (virTypedParamsGetULLong(record.params, record.nparams, field.c_str(), &time) != 1) return std::nullopt;
  return std::chrono::nanoseconds(time);
}

// Appends those of the virtual processors that have ever waited.
void add_scheduler_times(const virDomainStatsRecord& record, const Uuid& domain,
                         std::vector<SchedulerTimes>& times) {
  unsigned processors = 0;
  virTypedParamsGetUInt(record.params, record.nparams, "vcpu.maximum", &processors);
  for (unsigned i = 0; i < processors; ++i) {
    const auto ran = vcpu_time(record, i, "time");
    auto waited = vcpu_time(record, i, "delay");
    if (!waited) waited = vcpu_time(record, i, "wait");
    // Where the kernel does not count it, "wait" is there, and 0.
    if (waited == std::chrono::nanoseconds(0)) continue;
    if (!ran || !waited) continue;  // offline, for example
    times.push_back({domain, i, *ran, *waited});
  }
}

class LibvirtConnection : public HypervisorConnection {
 public:
  LibvirtConnection(const std::string& uri, SharedEvents events)
      : events_(std::move(events)), connection_(virConnectOpenReadOnly(uri.c_str())) {
    if (!connection_) throw HypervisorError(virGetLastErrorMessage());
    // Not every libvirt driver has keepalive, a close callback or events. Listings notice changes then, a little later.
    virConnectSetKeepAlive(connection_.get(), kKeepaliveSeconds, kKeepaliveCount);
    has_control_domain_ = has_control_domain(connection_.get());
    if (events_) register_callbacks();
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
      if (const auto uuid = guest(domains[i])) uuids.push_back(*uuid);
    }
    return uuids;
  }

  // A call for each domain: for the statistics of all at once, newer versions query QEMU and wait for one that hangs,
  // although the flags forbid it (VIR_DOMAIN_STATS_CPU_TOTAL: seen with 9.0).
  std::vector<CpuTime> cpu_times() override {
    const DomainList domains(connection_.get(), VIR_CONNECT_LIST_DOMAINS_RUNNING);
    std::vector<CpuTime> times;
    for (int i = 0; i < domains.size(); ++i) {
      const auto uuid = guest(domains[i]);
      virDomainInfo info{};
      if (uuid && virDomainGetInfo(domains[i], &info) == 0)
        times.push_back({*uuid, std::chrono::nanoseconds(info.cpuTime)});
    }
    return times;
  }

  std::vector<SchedulerTimes> scheduler_times() override {
    const StatsList stats(
        connection_.get(), VIR_DOMAIN_STATS_VCPU,
        VIR_CONNECT_GET_ALL_DOMAINS_STATS_RUNNING | VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT);
    std::vector<SchedulerTimes> times;
    // A connection without events has no other sign that it is dead.
    if (!stats.exists() && virConnectIsAlive(connection_.get()) == 0)
      throw HypervisorError("the connection broke");
    if (!stats.exists()) return times;
    for (int i = 0; i < stats.size(); ++i) {
      if (const auto uuid = guest(stats[i].dom)) add_scheduler_times(stats[i], *uuid, times);
    }
    return times;
  }

 private:
  void register_callbacks() {
    // Called under a lock that deregistering takes as well, so no call comes after that.
    close_callback_registered_ =
        virConnectRegisterCloseCallback(connection_.get(), on_close, events_.get(), nullptr) == 0;
    std::unique_ptr<LifecycleReceiver> receiver(new LifecycleReceiver{events_, has_control_domain_});
    // By way of the type that stands for any function: Clang warns of libvirt's own macro for this.
    const auto callback =
        reinterpret_cast<virConnectDomainEventGenericCallback>(reinterpret_cast<void (*)()>(on_lifecycle));
    lifecycle_ = virConnectDomainEventRegisterAny(connection_.get(), nullptr, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                                  callback, receiver.get(), free_receiver);
    if (lifecycle_ >= 0) static_cast<void>(receiver.release());
  }

  [[nodiscard]] std::optional<Uuid> guest(virDomainPtr domain) const {
    return guest_uuid(domain, has_control_domain_);
  }

  SharedEvents events_;
  Connection connection_;
  bool has_control_domain_ = false;
  bool close_callback_registered_ = false;
  int lifecycle_ = -1;
};

}  // namespace

std::unique_ptr<HypervisorConnection> Libvirt::connect(const std::string& uri,
                                                       std::shared_ptr<HypervisorEvents> events) {
  return std::make_unique<LibvirtConnection>(uri, std::move(events));
}

}  // namespace cleave::monitor
