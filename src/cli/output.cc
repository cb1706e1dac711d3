#include "cli/output.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cassert>
#include <map>

#include "document/document_text.h"

namespace sluice::cli {
namespace {

// The columns that a terminal needs for it, ignoring double-width characters.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

void add_output_option(CLI::App& command, Output& output, bool with_table) {
  std::map<std::string, Output> choices = {{"json", Output::kJson}, {"yaml", Output::kYaml}};
  if (with_table) choices.emplace("table", Output::kTable);
  command.add_option("--output", output, with_table ? "table, json or yaml" : "yaml or json")
      ->transform(CLI::CheckedTransformer(choices).description(""))
      ->option_text(with_table ? "FORMAT [table]" : "FORMAT [yaml]");
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

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line.append(row[i]).append(widths[i] - width(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).append(1, '\n');
  }
  return text;
}

}  // namespace sluice::cli
