#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/client/api_client.h"
#include "cli/command.h"
#include "cli/output/output.h"
#include "cli/request_flags.h"
#include "document/document_builder.h"
#include "engine/engine.h"
#include "policy/files/policy_files.h"
#include "server/setup/key_secrets.h"
#include "store/redis/script/wire.h"

namespace sluice::cli {

using server::open_key_secrets;
using server::shared_hasher;
namespace {

struct KeyCommand {
  RequestFlags request;
  std::vector<std::string> policies;
  std::string key_prefix = "rl:", key_secret, key_secrets;
  Output output = Output::kTable;
};

// Stands in for a store: allows everything and remembers the first call, which is what a check enforces or,
// if it enforces nothing, its shadow limits. Not thread-safe.
class NamesOnly final : public Store {
 public:
  explicit NamesOnly(const Clock& clock) : clock_(clock) {}

  bool start(StoreCall& call) override {
    if (charges.empty()) charges.assign(call.charges.begin(), call.charges.end());
    call.forget_answer();
    call.verdict = Verdict::kAllowed;
    call.now_us = clock_.now_us();
    call.results_known = call.results.size();
    return true;
  }
  void reset(std::span<const CounterName> /*counters*/, std::function<void(int)> done) override { done(0); }
  void tick(std::int64_t /*now_us*/) override {}
  std::int64_t next_due_us() const override { return INT64_MAX; }
  Health health() const override { return {.connected = true, .problems = {}}; }

  std::vector<Charge> charges;

 private:
  const Clock& clock_;
};

std::shared_ptr<const Snapshot> read_policies(const std::vector<std::string>& paths, ParamsTable& params) {
  Problems problems;
  const std::vector<PolicyFile> files = read_policy_files(paths, problems);
  std::vector<Policy> policies;
  if (problems.empty())
    for (WrittenPolicy& written : parse_plain_policy_files(files, problems))
      policies.push_back(std::move(written.policy));
  if (!problems.empty()) throw CommandError(problems.list().front().text());
  auto snapshot = Snapshot::compile(std::move(policies), params);
  if (!snapshot) throw CommandError(snapshot.error().message);
  return *snapshot;
}

std::string key_name(const KeyCommand& command, const Charge& charge) {
  std::string name;
  append_key(name, command.key_prefix, charge.slot_tag, charge.key);
  return name;
}

// {"policy_id":"api.read","limit":"burst","key":"rl:{…}…","slot":1234}
DocumentNode row_of(const KeyCommand& command, const LimitStatus& status, const Charge& charge) {
  DocumentNode row = map_node();
  put(row, "policy_id", text_node(status.policy->source.id));
  put(row, "limit", text_node(status.limit->name()));
  put(row, "key", text_node(key_name(command, charge)));
  put(row, "slot", number_node(slot_of_tag(charge.slot_tag)));
  return row;
}

// With tabs, for cut and awk.
std::string line_of(const DocumentNode& row) {
  return fmt::format("{}\t{}\t{}\tslot {}\n", text_of(row, "policy_id"), text_of(row, "limit"),
                     text_of(row, "key"), text_of(row, "slot"));
}

int run(const KeyCommand& command) {
  const SystemClock clock;
  const auto secrets = open_key_secrets(command.key_secret, command.key_secrets, WallClock().now_us());
  const KeyHasher hasher = shared_hasher(command.key_secret, secrets);
  ParamsTable params;
  SnapshotPublisher snapshots;
  snapshots.publish(read_policies(command.policies, params));
  DecisionTotals totals;
  NamesOnly store(clock);
  Engine engine({store, snapshots, hasher, clock, totals});

  const auto named = command.request.named_values();
  std::vector<Dimension> dimensions;
  for (const auto& [name, value] : named) dimensions.push_back({name, value});
  CheckRequest request;
  request.policy_id = command.request.policy;
  request.tenant = command.request.tenant;
  request.resource = command.request.resource;
  request.key = command.request.key;
  request.dimensions = dimensions;
  const auto decision = *engine.check(request, []() -> Engine::Later { return {}; });
  if (!decision) throw CommandError(decision.error().message);
  if (store.charges.empty())
    throw CommandError(
        decision->policy
            ? "every limit of the policy needs a dimension that this request lacks; see --dimension"
            : "no policy matches this request, so it has no key; see --tenant and --resource");
  for (std::size_t i = 0; i < store.charges.size(); ++i) {
    const DocumentNode row = row_of(command, decision->limits[i], store.charges[i]);
    print_result(command.output, row, [&] { return line_of(row); });
  }
  return kExitOk;
}

}  // namespace

void add_key(CLI::App& app, int& exit_code) {
  const auto command = std::make_shared<KeyCommand>();
  CLI::App* key = app.add_subcommand("key", "The keys in Redis that a check would charge");
  add_request_flags(*key, command->request);
  key->add_option("--policies", command->policies, "policy files, the same as on the servers")
      ->required()
      ->type_name("FILE|DIR")
      ->envname("SLUICE_POLICIES");
  key->add_option("--key-prefix", command->key_prefix, "the same as on the servers (rl:)")
      ->envname("SLUICE_KEY_PREFIX");
  key->add_option("--key-secret", command->key_secret, "the same as on the servers (none)")
      ->envname("SLUICE_KEY_SECRET");
  key->add_option("--key-secrets", command->key_secrets, "the same as a file of versions")
      ->type_name("FILE")
      ->envname("SLUICE_KEY_SECRETS");
  add_output_option(*key, command->output);
  key->add_flag_callback("--json", [command] { command->output = Output::kJson; }, "--output json");
  key->footer(
      "Example:\n  sluice key --policies policies.yaml --tenant shop --resource /search --key user_123\n"
      "One line for each limit: policy, limit, key, slot of a Cluster, with tabs between them.");
  key->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace sluice::cli
