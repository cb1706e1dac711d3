#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/program.h"
#include "cli/usage_error.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Sluice decides whether this request of this user, tenant, address or key may pass now, and says why."};
  int exit_code = sluice::cli::kExitOk;
  sluice::cli::define_program(app, std::vector<std::string>(argv + std::min(argc, 2), argv + argc),
                              exit_code);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return sluice::cli::kExitOk;
  }
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
