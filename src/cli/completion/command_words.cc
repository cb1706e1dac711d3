#include "cli/completion/command_words.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/usage_error.h"

namespace sluice::cli {
namespace {

// CLI11 keeps the choices of a value in the name of its type: "TEXT:{table,json,yaml}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == type.npos || end == type.npos || end < begin) return {};
  std::vector<std::string> choices;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

// By its description: there is no type for files.
bool names_a_file(const CLI::Option& option) {
  const std::string words = option.get_type_name() + ' ' + option.get_description();
  for (const char* sign : {"FILE", "file", "LOG", "log"})
    if (words.contains(sign)) return true;
  return false;
}

OptionWords words_of(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  words.help = option.get_description();
  words.takes_value = option.get_type_size() != 0;
  words.choices = choices_in(option.get_type_name());
  words.takes_file = words.takes_value && words.choices.empty() && names_a_file(option);
  return words;
}

void add_words(const CLI::App& command, std::vector<CommandWords>& all) {
  CommandWords words{.path = full_name(command), .help = command.get_description()};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      words.takes_files = words.takes_files || names_a_file(*option);
    else
      words.options.push_back(words_of(*option));
  }
  const auto inner = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* each : inner) words.commands.push_back(each->get_name());
  all.push_back(std::move(words));
  for (const CLI::App* each : inner) add_words(*each, all);
}

}  // namespace

std::vector<CommandWords> words_of_commands(const CLI::App& app) {
  std::vector<CommandWords> all;
  add_words(app, all);
  return all;
}

}  // namespace sluice::cli
