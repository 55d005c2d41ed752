#include "remote/server/options.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <CLI/CLI.hpp>
#include <sys/stat.h>

#include "base/address.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::server {
namespace {

constexpr const char* kDefaultAddress = "unix:/run/cleave/server.sock";
constexpr const char* kExpectedAddress = "expected tcp:HOST:PORT, tls:HOST:PORT, unix:PATH or vsock:any:PORT";

template <typename Number>
Number whole(const std::string& option, const std::string& text, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most) {
    throw OptionError(option + ": \"" + text + "\" is not understood; expected a number from " +
                      std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

unsigned mode(const std::string& option, const std::string& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error == std::errc() && end == text.data() + text.size() && mode <= 0777) return mode;
  throw OptionError(option + ": \"" + text + "\" is not understood; expected an octal mode such as 0660");
}

// Of none `otherwise`.
std::uint64_t size(const std::string& option, const std::string& text, std::uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const auto value = read_size(text);
  if (value) return *value;
  throw OptionError(option + ": \"" + text + "\" is not understood; expected bytes, such as 512M");
}

// What the options of these names were given, or what they are by themselves.
struct Texts {
  std::vector<std::string> listen;
  std::string mode = "0660";
  std::string most_clients = "16";
  std::string spare = "1";
  std::string memory;
  std::string commands = "8192";
  std::string data;
  std::string program;
  std::string timeout = "10000";
  std::string heartbeat = "2000";
  std::string idle = "0";
};

void add_access(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--listen", texts.listen,
                 std::string("Where: tcp:HOST:PORT, tls:HOST:PORT, unix:PATH, vsock:any:PORT (") +
                     kDefaultAddress + ")")
      ->type_name("ADDRESS")
      ->delimiter(',');
  app.add_option("--socket-mode", texts.mode, "Mode of unix sockets (0660)")->type_name("OCTAL");
  app.add_option("--token-file", options.token_file, "Clients must know one of these tokens, one a line")
      ->type_name("FILE");
  app.add_option("--tls-cert", options.tls.certificate, "The server's certificate, with its chain (PEM)")
      ->type_name("FILE");
  app.add_option("--tls-key", options.tls.key, "Its key (PEM)")->type_name("FILE");
  app.add_option("--client-ca", options.tls.authority,
                 "Clients on TLS must have a certificate of this authority (PEM)")
      ->type_name("FILE");
}

void add_limits(CLI::App& app, Texts& texts) {
  app.add_option("--max-clients", texts.most_clients, "At most so many at a time (16)")->type_name("N");
  app.add_option("--spare", texts.spare, "So many workers are ready before they are needed (1)")
      ->type_name("N");
  app.add_option("--memory-per-client", texts.memory,
                 "Of all memory objects of one client together (no limit)")
      ->type_name("BYTES[KMGT]");
  app.add_option("--commands-per-client", texts.commands,
                 "Unfinished commands of one client, which waits then (8192)")
      ->type_name("N");
  app.add_option("--data-per-client", texts.data, "On its way for one client, which waits then (128M)")
      ->type_name("BYTES[KMGT]");
  app.add_option("--program-size", texts.program, "The largest text, IL or binaries of a program (256M)")
      ->type_name("BYTES[KMGT]");
  app.add_option("--timeout", texts.timeout, "A client that is silent for so long is gone (10000)")
      ->type_name("MS");
  app.add_option("--heartbeat", texts.heartbeat, "A sign of life goes out at least so often (2000)")
      ->type_name("MS");
  app.add_option("--idle-timeout", texts.idle,
                 "A client without a command for so long is sent away (0: never)")
      ->type_name("SECONDS");
}

void add_surroundings(CLI::App& app, Options& options) {
  app.add_option("--devices", options.devices,
                 "Shell patterns of the names of devices that are offered (all)")
      ->type_name("PATTERN")
      ->delimiter(',');
  app.add_option("--user", options.user, "What the workers run as, where the server is root")
      ->type_name("NAME");
  app.add_option("--opencl", options.opencl, "The OpenCL loader (libOpenCL.so.1)")->type_name("FILE");
  app.add_option("--state", options.state, "A folder for the number of clients, which the splitter reads")
      ->type_name("FOLDER");
  app.add_option("--metrics", options.metrics, "Where to serve /metrics: tcp:ADDRESS:PORT on loopback")
      ->type_name("ADDRESS");
}

void read_limits(const Texts& texts, Options& options) {
  using std::chrono::milliseconds;
  ClientLimits& limits = options.limits;
  options.most_clients = whole<unsigned>("--max-clients", texts.most_clients, 1, 10'000);
  options.spare = whole<unsigned>("--spare", texts.spare, 0, 64);
  options.timeout = milliseconds(whole<unsigned>("--timeout", texts.timeout, 100, 3'600'000));
  options.heartbeat = milliseconds(whole<unsigned>("--heartbeat", texts.heartbeat, 50, 3'600'000));
  limits.idle = std::chrono::seconds(whole<unsigned>("--idle-timeout", texts.idle, 0, 86'400));
  limits.memory = size("--memory-per-client", texts.memory, limits.memory);
  limits.window_commands = whole<unsigned>("--commands-per-client", texts.commands, 16, 1'000'000);
  limits.window_bytes = size("--data-per-client", texts.data, limits.window_bytes);
  limits.program = size("--program-size", texts.program, limits.program);
}

// What can be reached from other machines is no place for a stranger.
void check_access(const Options& options) {
  for (const Endpoint& endpoint : options.listen) {
    if (endpoint.tls && options.tls.certificate.empty()) {
      throw OptionError("--listen " + as_text(endpoint) + ": TLS needs --tls-cert and --tls-key");
    }
    const bool known = !options.token_file.empty() || (endpoint.tls && !options.tls.authority.empty());
    if (is_private(endpoint) || known) continue;
    throw OptionError("--listen " + as_text(endpoint) +
                      ": other machines can connect there; give --token-file" +
                      (endpoint.tls ? " or --client-ca" : ", or listen on a loopback address"));
  }
}

}  // namespace

std::optional<std::uint64_t> read_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.empty()) return number;
  const std::size_t power = std::string_view("KMGT").find(unit.front());
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  return number <= UINT64_MAX >> shift ? std::optional(number << shift) : std::nullopt;
}

std::vector<std::string> read_tokens(const std::string& path) {
  struct stat status {};
  std::ifstream file(path);
  if (!file || ::stat(path.c_str(), &status) != 0) {
    throw OptionError("--token-file: " + path + " cannot be read (" + std::strerror(errno) + ")");
  }
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    throw OptionError("--token-file: every user can read " + path + "; chmod it to 600");
  }
  std::vector<std::string> tokens;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.size() > kMaxToken)
      throw OptionError("--token-file: a line of " + path + " is too long for a token");
    tokens.push_back(line);
  }
  if (tokens.empty()) throw OptionError("--token-file: there is no token in " + path);
  return tokens;
}

std::optional<Options> read_options(std::span<const char* const> arguments) {
  Options options;
  Texts texts;
  CLI::App app(
      "Executes the OpenCL calls of remote clients: a process for each, and Cleave's splitter in it.",
      "cleave-serverd");
  app.set_version_flag("--version", "cleave-serverd " CLEAVE_VERSION);
  add_access(app, options, texts);
  add_limits(app, texts);
  add_surroundings(app, options);
  app.add_flag("--worker", options.worker)->group("");
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
      throw OptionError(std::string(error.what()) + " (see cleave-serverd --help)");
    }
    app.exit(error);
    return std::nullopt;
  }
  if (texts.listen.empty()) texts.listen.emplace_back(kDefaultAddress);
  for (const std::string& text : texts.listen) {
    const auto endpoint = read_endpoint(text);
    if (!endpoint) throw OptionError("--listen: \"" + text + "\" is not understood; " + kExpectedAddress);
    options.listen.push_back(*endpoint);
  }
  options.socket_mode = mode("--socket-mode", texts.mode);
  read_limits(texts, options);
  check_access(options);
  return options;
}

}  // namespace cleave::remote::server
