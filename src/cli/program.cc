#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/command.h"

namespace sluice::cli {
namespace {

using Add = void(CLI::App&, int&);

// The groups of the list of commands, in the order of --help.
constexpr struct {
  const char* name;
  const char* group;
} kGroups[] = {{"serve", "Run"},
               {"bench", "Run"},
               {"check", "Ask"},
               {"usage", "Ask"},
               {"reset", "Ask"},
               {"policy", "Policies and users"},
               {"plan", "Policies and users"},
               {"user", "Policies and users"},
               {"hotkeys", "Operate"},
               {"why", "Operate"},
               {"lease", "Operate"},
               {"key", "Operate"},
               {"switch", "Operate"},
               {"token", "Operate"},
               {"audit", "Operate"},
               {"completion", "This program"},
               {"help", "This program"},
               {"version", "This program"}};

}  // namespace

void define_program(CLI::App& app, std::vector<std::string> serve_arguments, int& exit_code) {
  app.name("sluice");
  app.set_version_flag("--version", "sluice " SLUICE_VERSION, "Show the version");
  app.require_subcommand(1);
  app.footer(
      "Example:\n  sluice serve --policies examples/policies.yaml\n"
      "  sluice check --tenant search-service --resource /search --key user_123\n"
      "See also `sluice help COMMAND`.");
  add_serve(app, std::move(serve_arguments), exit_code);
  for (Add* const add :
       {add_bench, add_check, add_usage, add_reset, add_policy, add_plan, add_user, add_hotkeys, add_why,
        add_lease, add_key, add_switch, add_token, add_audit, add_completion, add_help, add_version})
    add(app, exit_code);
  for (const auto& [name, group] : kGroups) app.get_subcommand(name)->group(group);
}

}  // namespace sluice::cli
