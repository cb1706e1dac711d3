#pragma once

#include <functional>
#include <string>

#include "cli/output/table.h"
#include "document/document_tree.h"

namespace CLI {
class App;
}

// How commands print their results: for people, as a table or a sentence, or for programs, as JSON or YAML.
namespace sluice::cli {

enum class Output { kTable, kJson, kYaml };

// Adds --output. The current value of `output` is the default.
void add_output_option(CLI::App& command, Output& output);

// One line of JSON, or YAML. REQUIRES: output is JSON or YAML.
std::string document_output(const DocumentNode& tree, Output output);

void print_table(const Table& table);

// Prints the answer of a server, or another document, as the user has asked for it. `for_people` is called
// only for --output table: it returns the table, or the finished text.
void print_result(Output output, const DocumentNode& answer, const std::function<Table()>& for_people);
void print_result(Output output, const DocumentNode& answer, const std::function<std::string()>& for_people);

}  // namespace sluice::cli
