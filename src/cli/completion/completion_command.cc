#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/completion/completion_script.h"

namespace sluice::cli {
namespace {

std::string script_for(const std::string& shell, const CLI::App& app) {
  const auto commands = words_of_commands(app);
  if (shell == "bash") return bash_completion(commands);
  return shell == "zsh" ? zsh_completion(commands) : fish_completion(commands);
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "A script that completes command lines in your shell");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Example:\n  sluice completion bash > /etc/bash_completion.d/sluice\n"
      "  sluice completion zsh > \"${fpath[1]}/_sluice\"\n"
      "  sluice completion fish > ~/.config/fish/completions/sluice.fish");
  command->callback([&app, shell, &exit_code] {
    fmt::print("{}", script_for(*shell, app));
    exit_code = kExitOk;
  });
}

}  // namespace sluice::cli
