#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

// The subcommands of `sluice`. Each registers its options on its own CLI::App and returns what runs it.
namespace sluice::cli {

// Exit statuses, the same for every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitDenied = 1;  // a denial, or a document that is not valid
inline constexpr int kExitError = 2;   // no answer: wrong usage, no connection, cannot start

// A sentence for stderr that says what to do; main prints it and exits with that status.
struct CommandError : std::runtime_error {
  explicit CommandError(const std::string& sentence, int exit_status = kExitError)
      : std::runtime_error(sentence), status(exit_status) {}
  int status;
};

// Adds the subcommand to `app`; when the command line names it, `exit_code` is set by running it.
// `arguments`: what follows `serve` on the command line; read again on SIGHUP.
void add_serve(CLI::App& app, std::vector<std::string> arguments, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_policy(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_switch(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_key(CLI::App& app, int& exit_code);

}  // namespace sluice::cli
