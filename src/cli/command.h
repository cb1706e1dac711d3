#pragma once

#include <string>
#include <vector>

#include "server/command_error.h"

namespace CLI {
class App;
}

// The subcommands of `sluice`. Each function registers its options on its own CLI::App.
namespace sluice::cli {

using server::CommandError;
using server::kExitDenied;
using server::kExitError;
using server::kExitOk;

// Adds the subcommand to `app`. If the command line names it, it runs and sets `exit_code`.
// `arguments`: what follows `serve` on the command line. They are read again on SIGHUP.
void add_serve(CLI::App& app, std::vector<std::string> arguments, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_policy(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_switch(CLI::App& app, int& exit_code);
void add_lease(CLI::App& app, int& exit_code);
void add_hotkeys(CLI::App& app, int& exit_code);
void add_why(CLI::App& app, int& exit_code);
void add_audit(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_key(CLI::App& app, int& exit_code);
void add_usage(CLI::App& app, int& exit_code);
void add_reset(CLI::App& app, int& exit_code);
void add_user(CLI::App& app, int& exit_code);
void add_token(CLI::App& app, int& exit_code);
void add_completion(CLI::App& app, int& exit_code);
void add_help(CLI::App& app, int& exit_code);
void add_version(CLI::App& app, int& exit_code);

}  // namespace sluice::cli
