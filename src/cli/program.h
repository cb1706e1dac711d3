#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sluice::cli {

// Defines all commands of `sluice`. The one that a command line names runs while it is parsed, and sets
// `exit_code`. `serve_arguments`: what follows `serve` on the command line.
void define_program(CLI::App& app, std::vector<std::string> serve_arguments, int& exit_code);

}  // namespace sluice::cli
