#pragma once

#include <string>
#include <vector>

#include "document/document_tree.h"

namespace CLI {
class App;
}

// How commands print their results.
namespace sluice::cli {

enum class Output { kTable, kJson, kYaml };

// Adds --output with these choices. The current value of `output` is the default.
void add_output_option(CLI::App& command, Output& output, bool with_table);

// One line of JSON, or YAML. REQUIRES: output is JSON or YAML.
std::string document_output(const DocumentNode& tree, Output output);

// Each column is as wide as its widest cell. The first row is the heading. Each row ends with a line break.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace sluice::cli
