#pragma once

#include <string>
#include <vector>

#include "policy/document_tree.h"

namespace CLI {
class App;
}

// How commands print what they found.
namespace sluice::cli {

enum class Output { kTable, kJson, kYaml };

// --output with these choices; the value is the default until it is given.
void add_output_option(CLI::App& command, Output& output, bool with_table);

// One line of JSON, or YAML. REQUIRES: output is one of the two.
std::string document_output(const DocumentNode& tree, Output output);

// Columns as wide as their widest cell; the first row is the heading. Each row ends with a line break.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace sluice::cli
