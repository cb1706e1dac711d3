#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/usage_error.h"
#include "document/document_builder.h"

namespace sluice::cli {
namespace {

// The command that the words name.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto inner =
        command->get_subcommands([&word](const CLI::App* each) { return each->get_name() == word; });
    if (inner.empty()) throw CommandError(no_such_command(*command, word));
    command = inner.front();
  }
  return *command;
}

}  // namespace

void add_help(CLI::App& app, int& exit_code) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("help", "Show the help of a command");
  command->add_option("command", *words, "the command; absent: all commands");
  command->footer("Example:\n  sluice help policy apply");
  command->callback([&app, words, &exit_code] {
    const CLI::App& about = named_command(app, *words);
    fmt::print("{}", about.get_formatter()->make_help(&about, full_name(about), CLI::AppFormatMode::Normal));
    exit_code = kExitOk;
  });
}

void add_version(CLI::App& app, int& exit_code) {
  const auto output = std::make_shared<Output>(Output::kTable);
  CLI::App* command = app.add_subcommand("version", "Show the version of this program");
  add_output_option(*command, *output);
  command->footer("Example:\n  sluice version --output json");
  command->callback([output, &exit_code] {
    DocumentNode version = map_node();
    put(version, "version", text_node(SLUICE_VERSION));
    print_result(*output, version, [] { return std::string("sluice " SLUICE_VERSION "\n"); });
    exit_code = kExitOk;
  });
}

}  // namespace sluice::cli
