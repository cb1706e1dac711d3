#include "cli/output/output.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cassert>
#include <cstdio>
#include <string_view>
#include <utility>

#include "document/document_text.h"

namespace sluice::cli {
namespace {

constexpr std::array<std::pair<std::string_view, Output>, 3> kOutputs = {
    {{"table", Output::kTable}, {"json", Output::kJson}, {"yaml", Output::kYaml}}};

std::string_view name_of(Output output) { return kOutputs[static_cast<std::size_t>(output)].first; }

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

void add_output_option(CLI::App& command, Output& output) {
  command
      .add_option_function<std::string>(
          "--output",
          [&output](const std::string& wanted) {
            for (const auto& [name, value] : kOutputs)
              if (name == wanted) output = value;
          },
          "table, json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->option_text("FORMAT [" + std::string(name_of(output)) + "]");
}

std::string document_output(const DocumentNode& tree, Output output) {
  assert(output != Output::kTable);
  std::string text;
  if (output == Output::kYaml) {
    append_yaml(tree, text);
    return text;
  }
  append_json(tree, text);
  return text + '\n';
}

void print_table(const Table& table) { print_text(table_text(table, Terminal::of(stdout))); }

void print_result(Output output, const DocumentNode& answer, const std::function<Table()>& for_people) {
  if (output == Output::kTable)
    print_table(for_people());
  else
    print_text(document_output(answer, output));
}

void print_result(Output output, const DocumentNode& answer, const std::function<std::string()>& for_people) {
  print_text(output == Output::kTable ? for_people() : document_output(answer, output));
}

}  // namespace sluice::cli
