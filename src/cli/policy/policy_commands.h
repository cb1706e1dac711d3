#pragma once

namespace CLI {
class App;
}

// The subcommands of `sluice policy`, each in a file of its own. They follow the pattern of command.h.
namespace sluice::cli {

void add_policy_validate(CLI::App& policy, int& exit_code);
void add_policy_apply(CLI::App& policy, int& exit_code);
void add_policy_list(CLI::App& policy, int& exit_code);
void add_policy_show(CLI::App& policy, int& exit_code);
void add_policy_diff(CLI::App& policy, int& exit_code);
void add_policy_rollout(CLI::App& policy, int& exit_code);
void add_policy_rollback(CLI::App& policy, int& exit_code);
void add_policy_import_envoy(CLI::App& policy, int& exit_code);

}  // namespace sluice::cli
