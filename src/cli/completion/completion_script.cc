#include "cli/completion/completion_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

namespace sluice::cli {
namespace {

// Both shells decide with `case`, but write its patterns and what they offer differently.
struct Dialect {
  std::string_view open;   // before a pattern
  std::string_view files;  // offers files, and ends the function
  std::string_view words;  // offers the words in {}, and ends the function
};
constexpr Dialect kBash{"", "_sluice_files; return", "_sluice_words \"{}\"; return"};
constexpr Dialect kZsh{"(", "_files; return", "compadd -- {}; return"};

std::string join(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

// "sluice serve"|"sluice policy": what makes the path longer.
std::string known_paths(const std::vector<CommandWords>& commands) {
  std::vector<std::string> paths;
  for (const CommandWords& command : commands)
    if (command.path.contains(' ')) paths.push_back('"' + command.path + '"');
  return fmt::format("{}", fmt::join(paths, "|"));
}

// What may follow an option: `"sluice check --output") …`.
std::string value_cases(const std::vector<CommandWords>& commands, const Dialect& dialect) {
  std::string out;
  for (const CommandWords& command : commands)
    for (const OptionWords& option : command.options) {
      if (!option.takes_value) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(fmt::format("\"{} {}\"", command.path, name));
      const std::string offer = option.takes_file ? std::string(dialect.files)
                                : option.choices.empty()
                                    ? "return"
                                    : fmt::format(fmt::runtime(dialect.words), join(option.choices));
      out += fmt::format("    {}{}) {} ;;\n", dialect.open, fmt::join(patterns, "|"), offer);
    }
  return out;
}

// What may follow a command.
std::string word_cases(const std::vector<CommandWords>& commands, const Dialect& dialect) {
  std::string out;
  for (const CommandWords& command : commands) {
    std::vector<std::string> words = command.commands;
    for (const OptionWords& option : command.options)
      words.insert(words.end(), option.names.begin(), option.names.end());
    out += fmt::format("    {}\"{}\") offers=\"{}\"; files={} ;;\n", dialect.open, command.path, join(words),
                       command.takes_files ? 1 : 0);
  }
  return out;
}

// In single quotes, for fish: only the first line, which says what it is.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

}  // namespace

std::string bash_completion(const std::vector<CommandWords>& commands) {
  return fmt::format(R"(# Completion of sluice for bash, made by `sluice completion bash`.
_sluice_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }}
_sluice_files() {{ compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }}
_sluice() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} at=sluice offers= files=0 i
  COMPREPLY=()
  # `--output=json` arrives as three words.
  if [[ $before == "=" ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  if [[ $cur == "=" ]]; then cur=; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$at $before" in
{}  esac
  case $at in
{}  esac
  if [[ $files == 1 && $cur != -* ]]; then _sluice_files; else _sluice_words "$offers"; fi
}}
complete -F _sluice sluice
)",
                     known_paths(commands), value_cases(commands, kBash), word_cases(commands, kBash));
}

std::string zsh_completion(const std::vector<CommandWords>& commands) {
  return fmt::format(R"(#compdef sluice
# Completion of sluice for zsh, made by `sluice completion zsh`.
_sluice() {{
  local at=sluice offers= files=0 word
  for word in ${{words[2,CURRENT-1]}}; do
    case "$at $word" in
      ({}) at="$at $word" ;;
    esac
  done
  case "$at ${{words[CURRENT-1]}}" in
{}  esac
  case $at in
{}  esac
  if [[ $files == 1 && ${{words[CURRENT]}} != -* ]]; then _files; else compadd -- ${{=offers}}; fi
}}
if [[ ${{funcstack[1]}} == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
)",
                     known_paths(commands), value_cases(commands, kZsh), word_cases(commands, kZsh));
}

std::string fish_completion(const std::vector<CommandWords>& commands) {
  std::string out =
      "# Completion of sluice for fish, made by `sluice completion fish`.\nfunction __sluice_at\n"
      "  set -l at sluice\n  for word in (commandline -opc)[2..]\n    switch \"$at $word\"\n      case";
  for (const CommandWords& command : commands)
    if (command.path.contains(' ')) out += " '" + command.path + "'";
  out +=
      "\n        set at \"$at $word\"\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n"
      "complete -c sluice -f\n";
  for (const CommandWords& command : commands) {
    const std::string here = fmt::format("complete -c sluice -n '__sluice_at \"{}\"'", command.path);
    if (command.takes_files) out += here + " -F\n";
    for (const CommandWords& inner : commands)
      for (const std::string& name : command.commands)
        if (inner.path == command.path + ' ' + name)
          out += here + fmt::format(" -a {} -d {}\n", name, in_quotes(inner.help));
    for (const OptionWords& option : command.options) {
      out += here;
      for (const std::string& name : option.names)
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_file) out += " -r -F";
      if (!option.choices.empty()) out += fmt::format(" -x -a '{}'", join(option.choices));
      if (option.takes_value && !option.takes_file && option.choices.empty()) out += " -x";
      out += " -d " + in_quotes(option.help) + '\n';
    }
  }
  return out;
}

}  // namespace sluice::cli
