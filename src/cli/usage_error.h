#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class Error;
}  // namespace CLI

// What is wrong with a command line, in our words: CLI11's are a programmer's.
namespace sluice::cli {

// A sentence about one option, from CLI11's message.
//
//   plain_usage_error("--threads: Value many not in range 0 to 1024")
//       // --threads: must be a number from 0 to 1024, not "many"
std::string plain_usage_error(std::string_view message);

// "sluice policy apply"
std::string full_name(const CLI::App& command);

// "there is no command lst; did you mean list?", about the subcommands of `command`.
std::string no_such_command(const CLI::App& command, std::string_view word);

// The sentence for stderr: the problem, what was likely meant, and which --help to read. `app` has failed to
// parse the command line with `error`.
std::string usage_error(const CLI::App& app, const CLI::Error& error);

}  // namespace sluice::cli
