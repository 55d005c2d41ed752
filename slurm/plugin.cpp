// The SPANK plugin: the functions that Slurm calls, and nothing that decides (share.h, site.h, job_folder.h). No exception leaves
// them, and none makes a job fail: what goes wrong is one line, and the job runs without Cleave.
//
// Slurm loads it into srun, salloc and sbatch (for the options), into each step's slurmstepd, and into a process of
// slurmd's for prolog and epilog.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

extern "C" {
#include <slurm/spank.h>
}

#include "base/text/display_text.h"
#include "base/text/number.h"
#include "slurm/command.h"
#include "slurm/job_folder.h"
#include "slurm/share.h"
#include "slurm/site.h"
#include "slurm/usage.h"

namespace cleave::slurm {
namespace {

// The options' values: Slurm hands them to functions without a context, before the first hook.
Wishes& wishes() {
  static Wishes given;
  return given;
}

// To the user, where there is one, and to the log of Slurm's daemon.
void say(const std::string& line) { slurm_error("cleave: %s", base::displayable(line).c_str()); }

template <typename Hook>
int guarded(const Hook& hook) noexcept {
  try {
    hook();
  } catch (const std::exception& failure) {
    slurm_error("cleave: %s; the job runs without Cleave", failure.what());
  } catch (...) {
    slurm_error("cleave: unknown error; the job runs without Cleave");
  }
  return 0;
}

std::vector<std::string_view> words_of(int count, char** words) { return {words, words + count}; }

std::uint32_t number_of(spank_t spank, spank_item_t item) {
  std::uint32_t number = 0;
  return spank_get_item(spank, item, &number) == ESPANK_SUCCESS ? number : 0;
}

std::optional<std::string> variable(spank_t spank, const char* name) {
  std::array<char, 32768> value{};
  const spank_err_t status = spank_getenv(spank, name, value.data(), static_cast<int>(value.size()));
  return status == ESPANK_SUCCESS ? std::optional<std::string>(value.data()) : std::nullopt;
}

// Slurm's own numbers for steps that have no number.
std::string step_name(std::uint32_t step) {
  constexpr std::uint32_t kBatch = 0xfffffffb;
  constexpr std::uint32_t kInteractive = 0xfffffffa;
  if (step == kBatch) return "batch";
  return step == kInteractive ? "interactive" : std::to_string(step);
}

std::filesystem::path own_folder() {
  Dl_info found{};
  const auto* const place = reinterpret_cast<const void*>(&own_folder);
  return ::dladdr(place, &found) != 0 ? std::filesystem::path(found.dli_fname).parent_path() : "";
}

Libraries libraries_of(const Site& site) {
  if (site.face == Site::Face::registered) return {};
  return find_libraries(site.libraries.empty() ? own_folder() : std::filesystem::path(site.libraries));
}

// The shards of this step on this node. Slurm sets the variable itself wherever a node has shards, and removes the user's.
unsigned shards_of(spank_t spank) {
  const std::string text = variable(spank, "SLURM_SHARDS_ON_NODE").value_or("");
  return static_cast<unsigned>(base::parse_unsigned(text, 1, 1'000'000).value_or(0));
}

void set_up_step(spank_t spank, const Site& site) {
  const std::string job = std::to_string(number_of(spank, S_JOB_ID));
  const JobFolder folder = job_folder(site.jobs, job);
  const bool has_folder = has_user_folder(folder);
  if (has_folder) spank_setenv(spank, "CLEAVE_SLURM_FOLDER", folder.of_user.c_str(), 1);
  const Step step{job, step_name(number_of(spank, S_JOB_STEPID)), shards_of(spank),
                  has_folder ? folder.of_user : ""};
  if (step.shards == 0) return;
  const Libraries libraries = libraries_of(site);
  if (!libraries.problem.empty()) {
    say(libraries.problem + "; the job runs without Cleave");
    return;
  }
  const StepSettings settings = settings_of(site, libraries, step, wishes(),
                                            [spank](const char* name) { return variable(spank, name); });
  for (const std::string& note : settings.notes) say(note);
  for (const Variable& each : settings.variables) {
    if (spank_setenv(spank, each.name.c_str(), each.value.c_str(), 1) != ESPANK_SUCCESS) {
      say(each.name + " cannot be set for the job");
    }
  }
}

// Calls `use` with what plugstack.conf says, if that is right, or else reports it, if `report` is set.
template <typename Use>
int with_site(int count, char** words, bool report, const Use& use) {
  return guarded([&] {
    const ParsedSite parsed = parse_site(words_of(count, words));
    if (parsed.problem.empty()) {
      use(parsed.site);
    } else if (report) {
      say("plugstack.conf: " + parsed.problem + "; the job runs without Cleave");
    }
  });
}

void make_folder(spank_t spank, const Site& site) {
  uid_t user = 0;
  gid_t group = 0;
  if (spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS) return;
  spank_get_item(spank, S_JOB_GID, &group);
  const JobFolder folder = job_folder(site.jobs, std::to_string(number_of(spank, S_JOB_ID)));
  const std::string problem = make_job_folder(folder, user, group);
  if (!problem.empty()) say(problem);
}

// Other nodes of the job do the same at the same time: a node that does not find its part afterwards adds it again.
void add_to_accounting(const std::string& job, const std::string& part) {
  constexpr std::chrono::seconds kLimit{10};
  constexpr int kAttempts = 5;
  const std::string failure = "no accounting for job " + job + ": ";
  const std::string setting = "AdminComment=";
  const std::string where = "jobid=" + job;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const CommandResult found =
        run_command({"sacct", "-X", "-n", "-P", "-j", job, "-o", "AdminComment"}, kLimit);
    const std::string comment = found.output.substr(0, found.output.find('\n'));
    if (found.status != 0) return say(failure + comment);
    const std::string wanted = with_part(comment, part);
    if (wanted == comment) return;
    const CommandResult changed = run_command(
        {"sacctmgr", "-i", "-Q", "modify", "job", "where", where, "set", setting + wanted}, kLimit);
    if (changed.status != 0) return say(failure + changed.output);
    ::usleep(static_cast<useconds_t>(std::hash<std::string>()(part) % 100'000));
  }
}

void account(const Site& site, const std::string& job, const JobFolder& folder) {
  Usage usage = usage_of(site.registry.empty() ? kDefaultRegistry : site.registry, job);
  if (!site.accounting || usage.processes == 0) return;
  usage.memory = largest_peak(folder.of_user);
  const char* const node = std::getenv("SLURMD_NODENAME");
  const std::string part = text_of(usage, node != nullptr ? node : "node");
  slurm_info("cleave: job %s: %s", job.c_str(), part.c_str());
  add_to_accounting(job, part);
}

void finish_job(spank_t spank, const Site& site) {
  const std::string job = std::to_string(number_of(spank, S_JOB_ID));
  const JobFolder folder = job_folder(site.jobs, job);
  account(site, job, folder);
  const std::string problem = remove_job_folder(folder);
  if (!problem.empty()) say(problem);
}

int accept_switch(int /*value*/, const char* text, int /*remote*/) {
  return guarded([&] { wishes().cleave = text != nullptr ? text : ""; });
}

int accept_priority(int /*value*/, const char* text, int /*remote*/) {
  return guarded([&] { wishes().priority = text != nullptr ? text : ""; });
}

// Where the user still sees it as a mistake on the command line, Slurm adds the option's name to the failure.
int take_switch(int value, const char* text, int remote) {
  const std::string_view given = text != nullptr ? text : "";
  if (remote == 0 && given != "on" && given != "off") return ESPANK_BAD_ARG;
  return accept_switch(value, text, remote);
}

int take_priority(int value, const char* text, int remote) {
  if (remote == 0 && !parse_priority(text != nullptr ? text : "")) return ESPANK_BAD_ARG;
  return accept_priority(value, text, remote);
}

// Slurm's structure has no const.
char switch_name[] = "cleave";
char switch_values[] = "on|off";
char switch_help[] = "Whether Cleave keeps this job to its shards of a GPU; off where the site allows it";
char priority_name[] = "cleave-priority";
char priority_values[] = "high|normal|background|idle";
char priority_help[] = "The class in which this job takes its turns on a shared GPU";

spank_option options[] = {{switch_name, switch_values, switch_help, 1, 0, take_switch},
                          {priority_name, priority_values, priority_help, 1, 0, take_priority}};

}  // namespace
}  // namespace cleave::slurm

#define CLEAVE_HOOK extern "C" __attribute__((visibility("default")))

extern "C" {
__attribute__((visibility("default"))) extern const char plugin_name[] = "cleave";
__attribute__((visibility("default"))) extern const char plugin_type[] = "spank";
__attribute__((visibility("default"))) extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
__attribute__((visibility("default"))) extern const unsigned int spank_plugin_version = 1;
}

// Everywhere. A table under the name of spank_options would be srun's alone.
CLEAVE_HOOK int slurm_spank_init(spank_t spank, int /*count*/, char** /*words*/) {
  for (spank_option& option : cleave::slurm::options) spank_option_register(spank, &option);
  return 0;
}

// In slurmstepd, once for each step on each node, before its tasks start.
CLEAVE_HOOK int slurm_spank_user_init(spank_t spank, int count, char** words) {
  return cleave::slurm::with_site(
      count, words, true, [&](const cleave::slurm::Site& site) { cleave::slurm::set_up_step(spank, site); });
}

CLEAVE_HOOK int slurm_spank_job_prolog(spank_t spank, int count, char** words) {
  return cleave::slurm::with_site(
      count, words, false, [&](const cleave::slurm::Site& site) { cleave::slurm::make_folder(spank, site); });
}

CLEAVE_HOOK int slurm_spank_job_epilog(spank_t spank, int count, char** words) {
  return cleave::slurm::with_site(
      count, words, false, [&](const cleave::slurm::Site& site) { cleave::slurm::finish_job(spank, site); });
}
