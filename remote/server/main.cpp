// cleave-serverd: reads its options and runs as the supervisor, or as its front or one of its workers.
#include <cstdlib>
#include <exception>
#include <span>
#include <string_view>

#include "remote/server/front/front.h"
#include "remote/server/log.h"
#include "remote/server/options.h"
#include "remote/server/supervisor/spawn.h"
#include "remote/server/supervisor/supervisor.h"
#include "remote/server/worker/worker.h"

namespace cleave::remote::server {
namespace {

constexpr int kUsage = 2;

int start(std::span<const char* const> arguments) try {
  const std::string_view argument = arguments.size() == 2 ? arguments[1] : "";
  if (argument == kFrontArgument) return run_front();
  if (argument == kWorkerArgument) return run_worker();
  const auto options = read_options(arguments);
  if (!options) return EXIT_SUCCESS;
  if (!options->token_file.empty()) read_tokens(options->token_file);
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
