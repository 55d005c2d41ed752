// cleave-serverd: reads its options and runs as the supervisor, or as its front or one of its workers.
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "base/files/file_descriptor.h"
#include "remote/server/builds/build_trials.h"
#include "remote/server/front/front.h"
#include "remote/server/options/options.h"
#include "remote/server/processes/log.h"
#include "remote/server/processes/received_options.h"
#include "remote/server/sandbox/bubblewrap.h"
#include "remote/server/session/platforms.h"
#include "remote/server/supervisor/supervisor.h"
#include "remote/server/supervisor/worker_brokers.h"
#include "remote/server/worker/opencl_loader.h"
#include "remote/server/worker/trial_process.h"
#include "remote/server/worker/worker.h"

namespace cleave::remote::server {
namespace {

constexpr int kUsage = 2;

// In a process of its own, as a worker would see them.
int print_devices(const std::string& library) {
  std::string problem;
  const Table* const cl = load_opencl(library, problem);
  if (cl == nullptr) {
    log_line("OpenCL cannot be loaded: " + problem);
    return EXIT_SUCCESS;  // there are none
  }
  const bool written = base::write_all(STDOUT_FILENO, list_devices(*cl, kListedDevice));
  std::_Exit(written ? EXIT_SUCCESS : EXIT_FAILURE);
}

int start(std::span<const char* const> arguments) try {
  const std::string_view argument = arguments.size() == 2 ? arguments[1] : "";
  if (argument == kFrontArgument) return run_front();
  if (argument == kWorkerArgument) return run_worker();
  if (argument == kBrokerArgument) return run_broker();
  if (argument == kTrialArgument) return run_trial_process();
  if (arguments.size() == 3 && std::string_view(arguments[1]) == kListArgument)
    return print_devices(arguments[2]);
  const auto options = read_options(arguments);
  if (!options) return EXIT_SUCCESS;
  return run_supervisor(*options);
} catch (const OptionError& error) {
  log_line(error.what());
  return kUsage;
} catch (const std::exception& error) {
  log_line(error.what());
  return EXIT_FAILURE;
}

}  // namespace
}  // namespace cleave::remote::server

int main(int count, char** arguments) {
  return cleave::remote::server::start({arguments, static_cast<std::size_t>(count)});
}
