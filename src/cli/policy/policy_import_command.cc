#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/policy/policy_commands.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "policy/document/policy_writer.h"
#include "policy/envoy/envoy_policies.h"
#include "policy/files/policy_files.h"

namespace sluice::cli {
namespace {

struct ImportOptions {
  std::vector<std::string> paths;
  std::string out;  // empty: stdout
};

std::string document_of(const std::vector<WrittenPolicy>& policies) {
  DocumentNode list = list_node();
  for (const WrittenPolicy& each : policies) list.items.push_back(policy_document(each.policy));
  DocumentNode map = map_node();
  put(map, "policies", std::move(list));
  std::string text;
  append_yaml(map, text);
  return text;
}

void write_to(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw CommandError(fmt::format("{} cannot be written; check its folder and the disk", file));
}

int import_envoy(const ImportOptions& options) {
  Problems problems;
  std::vector<Problem> warnings;
  std::vector<EnvoyDomain> domains;
  for (const PolicyFile& file : read_policy_files(options.paths, problems))
    if (auto domain = parse_envoy_document(file.text, file.path, problems, warnings))
      domains.push_back(*std::move(domain));
  const EnvoyPolicies converted = convert_envoy_domains(domains, problems, warnings);
  if (problems.empty()) check_together(converted.policies, problems);
  for (const Problem& warning : warnings) fmt::print(stderr, "{}\n", warning.text());
  for (const std::string& line : problems.texts()) fmt::print(stderr, "{}\n", line);
  if (!problems.empty())
    throw CommandError(fmt::format("nothing was converted; {} problem{} to fix", problems.count(),
                                   problems.count() == 1 ? "" : "s"));
  const std::string document = document_of(converted.policies);
  if (options.out.empty())
    fmt::print("{}", document);
  else
    write_to(options.out, document);
  if (converted.left_out == 0) return kExitOk;
  fmt::print(stderr, "sluice: {} limit{} left out; see above\n", converted.left_out,
             converted.left_out == 1 ? " was" : "s were");
  return kExitDenied;
}

}  // namespace

void add_policy_import_envoy(CLI::App& policy, int& exit_code) {
  const auto options = std::make_shared<ImportOptions>();
  CLI::App* command =
      policy.add_subcommand("import-envoy", "Convert envoyproxy/ratelimit's YAML to policies");
  command->add_option("paths", options->paths, "files or directories, one domain a file")->required();
  command->add_option("-o,--out", options->out, "the file to write; absent: standard output");
  command->footer(
      "Differences from the original are printed to standard error, with line numbers. Exit status 0 done,\n"
      "1 done except for limits that no policy can express, 2 not done.\n"
      "Example:\n  sluice policy import-envoy examples/envoy/shop.yaml -o policies.yaml");
  command->callback([options, &exit_code] { exit_code = import_envoy(*options); });
}

}  // namespace sluice::cli
