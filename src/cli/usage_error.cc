#include "cli/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <regex>
#include <vector>

#include "base/text/near_name.h"

namespace sluice::cli {
namespace {

struct Rewrite {
  std::regex theirs;
  const char* ours;
};

const std::vector<Rewrite>& rewrites() {
  static const std::vector<Rewrite> all = {
      {std::regex("^(.*): Value (.*) not in range 0\\.000000 to \\d{20,}.*$"),
       "$1: must be positive, not \"$2\""},
      {std::regex("^(.*): Value (.*) not in range (\\S+) to (\\S+)$"),
       "$1: must be a number from $3 to $4, not \"$2\""},
      {std::regex("^(.*): File does not exist: (.*)$"), "$1: $2 does not exist"},
      {std::regex("^Could not convert: (\\S+) = (.*)$"), "$1: must be a number, not \"$2\""},
      {std::regex("^(.*): \\d+ required .* missing$"), "$1 needs a value"},
      {std::regex("^(.*) excludes (.*)$"), "$1 and $2 exclude each other"},
      {std::regex("^(.*) requires (.*)$"), "$1 needs $2"},
      {std::regex("^(--\\S+) is required$"), "$1 is missing"},
  };
  return all;
}

// "--x: v not in {a,b}": CLI11 may list the members without a space between them.
std::string one_of(const std::smatch& match) {
  std::string members = match[3];
  for (std::size_t at = 0; (at = members.find(',', at)) != std::string::npos; at += 2)
    members.insert(at + 1, " ");
  return fmt::format("{}: must be one of {}, not \"{}\"", match[1].str(), members, match[2].str());
}

// The command that the words name as far as they name one: of `sluice policy shw`, `sluice policy`.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view meant = near_name(word, views);
  return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::string list_of_commands(const CLI::App& command) {
  return fmt::format("the commands of `{}` are {}", full_name(command),
                     fmt::join(commands_of(command), ", "));
}

std::string about_command(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto word =
      std::ranges::find_if(words, [](const std::string& each) { return !each.starts_with('-'); });
  return word == words.end() ? "name a command; " + list_of_commands(command)
                             : no_such_command(command, *word);
}

std::string about_extras(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  const auto flag =
      std::ranges::find_if(words, [](const std::string& each) { return each.starts_with('-'); });
  if (flag == words.end()) return fmt::format("\"{}\" is one argument too many", fmt::join(words, " "));
  const std::string name = flag->substr(0, flag->find('='));
  return fmt::format("there is no option {}{}", name, did_you_mean(name, flags_of(command)));
}

// The names of positional arguments are in lower case in the code, and in upper case in the documentation.
std::string about_missing(const std::string& message) {
  static const std::regex positional("^(\\w+) is required$");
  std::smatch match;
  if (!std::regex_match(message, match, positional)) return plain_usage_error(message);
  std::string name = match[1];
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name + " is missing";
}

}  // namespace

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : "sluice";
}

std::string no_such_command(const CLI::App& command, std::string_view word) {
  const std::string meant = did_you_mean(word, commands_of(command));
  return fmt::format("there is no command {}{}", word,
                     meant.empty() ? "; " + list_of_commands(command) : meant);
}

std::string plain_usage_error(std::string_view message) {
  static const std::regex member("^(.*): (.*) not in \\{(.*)\\}$");
  std::string text(message);
  std::smatch match;
  if (std::regex_match(text, match, member)) return one_of(match);
  for (const auto& [theirs, ours] : rewrites())
    if (std::regex_match(text, theirs)) return std::regex_replace(text, theirs, ours);
  return text;
}

std::string usage_error(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = innermost(app);
  const std::string message = error.what();
  const std::string problem =
      message == "A subcommand is required"                                      ? about_command(command)
      : error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)   ? about_extras(command)
      : error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) ? about_missing(message)
                                                                                 : plain_usage_error(message);
  return fmt::format("sluice: {}\nTry `{} --help`.\n", problem, full_name(command));
}

}  // namespace sluice::cli
