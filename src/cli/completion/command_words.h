#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

// What can be typed after `sluice`, taken from the definitions of the commands.
namespace sluice::cli {

struct OptionWords {
  std::vector<std::string> names;  // "--help", "-h"
  std::string help;
  bool takes_value = false;
  bool takes_file = false;
  std::vector<std::string> choices;  // of its value; empty: any
};

struct CommandWords {
  std::string path;  // "sluice policy apply"
  std::string help;
  std::vector<std::string> commands;  // the last words of its subcommands' paths
  std::vector<OptionWords> options;
  bool takes_files = false;  // as arguments
};

// `app` and all commands below it, each before its subcommands.
std::vector<CommandWords> words_of_commands(const CLI::App& app);

}  // namespace sluice::cli
