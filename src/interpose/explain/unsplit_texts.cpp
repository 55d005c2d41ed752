#include "interpose/explain/unsplit_texts.h"

#include <algorithm>
#include <cassert>

namespace cleave::interpose {
namespace {

using base::Configuration;
using base::Settings;
using plan::UnsplitReason;

UnsplitText policy_text(const Configuration& configuration) {
  if (!configuration.problems.empty()) {
    return {"splitting is off, since the configuration has a mistake: " + configuration.problems.front(),
            "correct that setting"};
  }
  if (configuration.settings.policy.kind == base::SplitPolicy::Kind::fixed)
    return {"CLEAVE_SPLIT=fixed:1 asks for one slice", "ask for two slices or more"};
  return {"splitting is off (CLEAVE_SPLIT=off)", "set CLEAVE_SPLIT=alpha, or another policy"};
}

UnsplitText denied_text(const std::string& kernel, const Settings& settings) {
  const auto pattern = std::find_if(settings.deny.begin(), settings.deny.end(),
                                    [&](const std::string& each) { return base::matches(each, kernel); });
  const std::string named = pattern != settings.deny.end() ? " \"" + *pattern + "\"" : "";
  return {"the kernel is on the deny list (CLEAVE_DENY)" + (named.empty() ? named : ", as" + named),
          "remove" + (named.empty() ? " it" : named) + " from CLEAVE_DENY"};
}

UnsplitText alone_text(const Settings& settings) {
  constexpr const char* kAdvice =
      "set CLEAVE_VMS to the number of machines that share the host, or let cleave-monitord count them";
  if (settings.vms) return {"CLEAVE_VMS=1 says that nobody shares the host", kAdvice};
  return {"no source knows of another virtual machine on the host", kAdvice};
}

UnsplitText small_text(const Settings& settings) {
  const std::string least = settings.min_items
                                ? "CLEAVE_MIN_ITEMS=" + std::to_string(*settings.min_items) + " asks for"
                                : "the device has cores";
  return {"the launch has fewer work-items than " + least,
          "nothing, since so small a launch leaves room for others; CLEAVE_MIN_ITEMS=0 lifts the rule"};
}

// The reasons that depend on the configuration.
UnsplitText configured_text(UnsplitReason why, const std::string& kernel,
                            const Configuration& configuration) {
  switch (why) {
    case UnsplitReason::policy:
      return policy_text(configuration);
    case UnsplitReason::denied:
      return denied_text(kernel, configuration.settings);
    case UnsplitReason::alone:
      return alone_text(configuration.settings);
    default:
      assert(why == UnsplitReason::small);
      return small_text(configuration.settings);
  }
}

// The reasons that lie in how the program launches the kernel.
UnsplitText launch_text(UnsplitReason why) {
  switch (why) {
    case UnsplitReason::one_group:
      return {"the launch has one work-group, so there is no boundary to cut at",
              "nothing, unless the kernel may be launched with a smaller local size"};
    case UnsplitReason::shape:
      return {"the last work-groups of the launch are smaller and would be a slice of their own",
              "make the global size a multiple of the local size"};
    case UnsplitReason::shared:
      return {"another thread was enqueueing on the same in-order queue at that moment",
              "give each thread a queue of its own"};
    case UnsplitReason::recorded:
      return {"the launch was recorded in a command buffer, which may be changed and run again",
              "nothing, unless the program can enqueue it with clEnqueueNDRangeKernel"};
    case UnsplitReason::local_size:
      return {"the launch names no local size, and none can be chosen that the kernel would not notice",
              "pass the local size to clEnqueueNDRangeKernel"};
    case UnsplitReason::large_ids:
      return {"the launch has ids of 2^31 or more, which drivers may not pass on with an offset",
              "launch fewer work-items at a time, or use smaller offsets"};
    case UnsplitReason::smaller_groups:
      return {
          "the last work-groups of the launch are smaller, and the driver had not accepted such a launch yet",
          "nothing, since later launches of the kernel are split; or make the global size a multiple of "
          "the local size"};
    case UnsplitReason::no_room_for_tag:
      return {
          "the kernel queries values of the whole launch, and its sizes or offsets leave no room to pass "
          "them on",
          "leave the third dimension unused or below 8192, make the global size a multiple of the local "
          "size, and "
          "have at most 8191 work-groups in a dimension"};
    default:
      assert(why == UnsplitReason::queue_properties);
      return {"the queue has properties of the vendor's own, or the driver does not tell them",
              "create the queue with OpenCL's own properties only"};
  }
}

// The reasons by which a split would gain nothing.
UnsplitText gain_text(UnsplitReason why) {
  switch (why) {
    case UnsplitReason::measuring:
      return {"the time of the whole launch was being measured for CLEAVE_SPLIT=budget or pressure",
              "nothing, since that ends after a few launches"};
    case UnsplitReason::costly:
      return {"two slices would already cost more than the budget",
              "raise the budget with CLEAVE_SPLIT=budget:SHARE, or have the kernel do more in one launch"};
    case UnsplitReason::below_quantum:
      return {
          "the launch is no longer than the quantum, or shorter than two of the shortest slices of "
          "CLEAVE_SPLIT=pressure",
          "nothing, or set a shorter quantum: CLEAVE_SPLIT=quantum:MS"};
    case UnsplitReason::calm:
      return {"the pressure on the host's processors was below the target of CLEAVE_SPLIT=pressure",
              "nothing, or set a lower target: CLEAVE_SPLIT=pressure:TARGET"};
    case UnsplitReason::remote:
      return {"the device is a server's, which splits by itself",
              "nothing here; the statistics of cleave-serverd say what it splits"};
    default:
      assert(why == UnsplitReason::resident);
      return {"the device holds the work-groups of the launch all at once, or all but a few",
              "nothing, since slices would let nobody in earlier; CLEAVE_MIN_ITEMS=0 lifts the rule"};
  }
}

// The reasons that lie in the kernel.
UnsplitText kernel_text(UnsplitReason why) {
  switch (why) {
    case UnsplitReason::binary:
      return {"the kernel comes from a binary of unknown origin, or is built into the driver",
              "create the program from its source (if it keeps binaries itself, have them made anew under "
              "Cleave); "
              "or, if its kernels cannot notice a split, set CLEAVE_ALLOW=binary:*"};
    case UnsplitReason::waiting_groups:
      return {
          "the kernel's work-groups may communicate, and the device may hold all of them at once, so that "
          "they may wait for each other",
          "nothing, if they do (a launch of more work-groups than the device holds is split); if they do "
          "not, name "
          "the kernel in CLEAVE_ALLOW"};
    case UnsplitReason::untagged_build:
      return {
          "the kernel queries values of the whole launch, and its program was built without the prelude "
          "for this device",
          "build the program for all its devices in one call"};
    default:
      assert(why == UnsplitReason::kernel);
      return {"the kernel may notice the split in a way that Cleave cannot hide",
              "nothing, unless the kernel can do without that"};
  }
}

// The driver's limits, with the quirk (interpose/drivers/quirks.h).
UnsplitText driver_text(UnsplitReason why) {
  switch (why) {
    case UnsplitReason::no_tags:
      return {
          "the kernel queries values of the whole launch, which slices cannot pass on with this driver "
          "(its probe failed, or its quirk failed_builds_are_final or crashes_on_mixed_offsets)",
          "use another driver or version, or do without these functions in the kernel"};
    case UnsplitReason::mixed_offsets:
      return {
          "PoCL 4 and 5 may end the process when launches with and without an offset run at a time (quirk "
          "crashes_on_mixed_offsets)",
          "use PoCL 3 or 6"};
    case UnsplitReason::racing_offsets:
      return {
          "PoCL up to 3 with more than one thread may end the process when slices run on an out-of-order "
          "queue, or alongside launches on more than two queues (quirk crashes_on_several_mixed_offsets)",
          "use at most two queues, in order; or set POCL_MAX_PTHREAD_COUNT=1; or use PoCL 6"};
    case UnsplitReason::late_failure:
      return {
          "PoCL ends the process if a user event for which slices wait is set to an error, and a user event "
          "was pending (quirk crashes_on_late_failure)",
          "set the program's user events before the launch"};
    case UnsplitReason::shared_failure:
      return {
          "this driver goes wrong if several commands wait for one that fails, and one in the wait list "
          "could (quirk crashes_on_shared_failure)",
          "wait for the events before the launch instead of naming them in its wait list"};
    case UnsplitReason::variable_copies:
      return {
          "PoCL gives launches with and without an offset different copies of the program's variables "
          "(quirk copies_variables)",
          "keep the data in a buffer instead of a variable of the program"};
    default:
      assert(why == UnsplitReason::driver);
      return {"the driver refused the first slice, but not the whole launch",
              "nothing in the program; another version of the driver may accept slices"};
  }
}

}  // namespace

UnsplitText describe(UnsplitReason why, const std::string& kernel, const Configuration& configuration) {
  switch (plan::kind_of(why)) {
    case UnsplitReason::policy:
    case UnsplitReason::denied:
    case UnsplitReason::alone:
    case UnsplitReason::small:
      return configured_text(why, kernel, configuration);
    case UnsplitReason::measuring:
    case UnsplitReason::costly:
    case UnsplitReason::below_quantum:
    case UnsplitReason::remote:
    case UnsplitReason::resident:
    case UnsplitReason::calm:
      return gain_text(why);
    case UnsplitReason::binary:
    case UnsplitReason::kernel:
      return kernel_text(why);
    case UnsplitReason::driver:
      return driver_text(why);
    default:
      return launch_text(why);
  }
}

}  // namespace cleave::interpose
