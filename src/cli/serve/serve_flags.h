#pragma once

#include <string>
#include <vector>

#include "server/serve_options.h"

namespace CLI {
class App;
}

namespace sluice::cli {

using server::ServeOptions;

// Declares the flags and their environment variables.
void add_serve_options(CLI::App& command, ServeOptions& options);

// Combines these arguments of `sluice serve`, the environment and the file of --config. Called again on
// SIGHUP. Throws a CommandError that says what to do; for the file it names the line and the key.
ServeOptions read_serve_options(const std::vector<std::string>& arguments);

}  // namespace sluice::cli
