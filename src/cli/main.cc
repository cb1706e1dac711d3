#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/usage_error.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Sluice decides whether this request of this user, tenant, address or key may pass now, and says why."};
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Example:\n  sluice serve --policies examples/policies.yaml\n"
      "  sluice check --tenant search-service --resource /search --key user_123\n"
      "See also `sluice COMMAND --help`.");

  int exit_code = sluice::cli::kExitOk;
  sluice::cli::add_serve(app, std::vector<std::string>(argv + std::min(argc, 2), argv + argc), exit_code);
  sluice::cli::add_check(app, exit_code);
  sluice::cli::add_policy(app, exit_code);
  sluice::cli::add_plan(app, exit_code);
  sluice::cli::add_switch(app, exit_code);
  sluice::cli::add_lease(app, exit_code);
  sluice::cli::add_hotkeys(app, exit_code);
  sluice::cli::add_audit(app, exit_code);
  sluice::cli::add_bench(app, exit_code);
  sluice::cli::add_key(app, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    std::fputs(sluice::cli::usage_error(app, e).c_str(), stderr);
    return sluice::cli::kExitError;
  } catch (const sluice::cli::CommandError& e) {
    std::fprintf(stderr, "sluice: %s\n", e.what());
    return e.status;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "sluice: %s\n", e.what());
    return sluice::cli::kExitError;
  }
  return exit_code;
}
