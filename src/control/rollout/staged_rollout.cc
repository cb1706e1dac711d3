#include "control/rollout/staged_rollout.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "base/limits.h"
#include "base/time_units.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"
#include "policy/document/policy_reader.h"
#include "policy/document/policy_writer.h"

namespace sluice::control {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"running", "finished", "aborted", "rolled_back"};

Literal<RolloutState> parse_state(std::string_view text) {
  const auto* const found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::unexpected(shown(text) + " is not a state of a rollout");
  return static_cast<RolloutState>(found - kStates.begin());
}

Literal<std::int64_t> parse_hold(std::string_view text) {
  auto us = parse_duration_us(text);
  if (!us || (*us >= kRolloutHoldUsMin && *us <= kRolloutHoldUsMax)) return us;
  return std::unexpected(shown(text) + " is out of range; a stage holds from 1s to 90d");
}

void read_stages(const DocumentNode& node, const Place& place, std::vector<RolloutStage>& stages) {
  constexpr std::array<std::string_view, 2> kNames = {"percent", "hold"};
  stages.clear();
  if (!is_list(node, place)) return;
  if (node.items.empty() || node.items.size() > kRolloutStagesMax)
    return place.report(node.line,
                        "a rollout has from 1 to " + std::to_string(kRolloutStagesMax) + " stages");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Place here = place.item(i);
    const Fields fields(node.items[i], here, kNames);
    if (!fields.is_map()) continue;
    const auto percent = fields.integer("percent", 0, 100);
    const auto hold = fields.text("hold", parse_hold);
    for (const std::string_view name : kNames) fields.missing(name);
    const RolloutStage stage{static_cast<int>(percent.value_or(0)), hold.value_or(0)};
    if (percent && !stages.empty() && stage.percent <= stages.back().percent)
      fields.report("percent", "must be greater than that of the previous stage");
    stages.push_back(stage);
  }
}

void read_candidate(const Fields& fields, const Place& place, Policy& candidate) {
  fields.missing("policy", "; the document to roll out");
  const DocumentNode* const node = fields.node("policy");
  if (!node) return;
  if (auto policy = read_policy(*node, place.field("policy"))) candidate = *std::move(policy);
}

}  // namespace

std::string_view to_string(RolloutState state) { return kStates[static_cast<std::size_t>(state)]; }

std::vector<RolloutStage> StagedRollout::default_stages() {
  return {{1, 10 * kMinuteUs}, {10, 10 * kMinuteUs}, {100, 10 * kMinuteUs}};
}

StagedRollout StagedRollout::advanced(std::int64_t now_us) const {
  assert(is_running());
  if (is_last_stage()) return ended(RolloutState::kFinished, "", now_us);
  StagedRollout next = *this;
  ++next.stage;
  next.since_us = now_us;
  return next;
}

StagedRollout StagedRollout::ended(RolloutState how, std::string why, std::int64_t now_us) const {
  assert(is_running());
  StagedRollout next = *this;
  next.state = how;
  next.note = std::move(why);
  next.since_us = now_us;
  return next;
}

void read_rollout_plan(const Fields& fields, const Place& place, StagedRollout& rollout) {
  read_candidate(fields, place, rollout.candidate);
  if (const DocumentNode* stages = fields.node("stages"))
    read_stages(*stages, place.field("stages"), rollout.stages);
  rollout.compare = fields.truth("compare").value_or(rollout.compare);
  rollout.min_samples = fields.integer("min_samples", 1, kRolloutSamplesMax).value_or(rollout.min_samples);
  rollout.sigmas = fields.integer("sigmas", 1, kRolloutSigmasMax).value_or(rollout.sigmas);
}

DocumentNode stages_document(const std::vector<RolloutStage>& stages) {
  DocumentNode list = list_node();
  for (const RolloutStage& stage : stages) {
    DocumentNode& map = list.items.emplace_back(map_node());
    put(map, "percent", number_node(stage.percent));
    put(map, "hold", text_node(duration_text(stage.hold_us)));
  }
  return list;
}

std::string write_rollout(const StagedRollout& rollout) {
  DocumentNode map = map_node();
  put(map, "state", text_node(to_string(rollout.state)));
  put(map, "base_version", number_node(rollout.candidate.version));
  put(map, "stage", number_node(static_cast<std::int64_t>(rollout.stage) + 1));
  put(map, "started_at", text_node(instant_text(rollout.started_us)));
  put(map, "since", text_node(instant_text(rollout.since_us)));
  put_text(map, "note", rollout.note);
  put(map, "stages", stages_document(rollout.stages));
  put(map, "compare", truth_node(rollout.compare));
  put(map, "min_samples", number_node(rollout.min_samples));
  put(map, "sigmas", number_node(rollout.sigmas));
  put(map, "policy", policy_document(rollout.candidate));
  std::string body;
  append_json(map, body);
  return body;
}

Result<StagedRollout> parse_rollout(std::string_view body, const std::string& name) {
  constexpr std::array<std::string_view, 11> kNames = {"state",       "base_version", "stage",  "started_at",
                                                       "since",       "note",         "stages", "compare",
                                                       "min_samples", "sigmas",       "policy"};
  Problems problems;
  const auto tree = parse_document_tree(body, name, problems);
  if (!tree) return std::unexpected(problems.first_error());
  const Place place{name, problems};
  const Fields fields(*tree, place, kNames);
  StagedRollout rollout;
  read_rollout_plan(fields, place, rollout);
  for (const std::string_view required : {"state", "base_version", "stage", "started_at", "since", "stages"})
    fields.missing(required);
  rollout.state = fields.text("state", parse_state).value_or(RolloutState::kRunning);
  rollout.candidate.version = fields.integer("base_version", 1, INT64_MAX).value_or(0);
  const auto stages = static_cast<std::int64_t>(rollout.stages.size());
  rollout.stage = static_cast<std::size_t>(fields.integer("stage", 1, stages).value_or(1) - 1);
  rollout.started_us = fields.text("started_at", parse_instant_us).value_or(0);
  rollout.since_us = fields.text("since", parse_instant_us).value_or(0);
  rollout.note =
      fields.text("note", [](std::string_view text) { return parse_free_text(text, kReasonBytesMax); })
          .value_or("");
  if (problems.empty() && rollout.candidate.id != name)
    fields.report("policy", "its id is \"" + rollout.candidate.id + "\", not \"" + name + '"');
  if (!problems.empty()) return std::unexpected(problems.first_error());
  return rollout;
}

Result<std::vector<RolloutStage>> parse_stages(std::string_view text) {
  if (text == "default") return StagedRollout::default_stages();
  std::vector<RolloutStage> stages;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const std::size_t sign = one.find("%:");
    const auto percent = parse_integer(one.substr(0, sign));
    if (sign == one.npos || !percent || *percent < 0 || *percent > 100)
      return invalid("", shown(one) + " is not a stage; write PERCENT%:HOLD, for example 10%:30m");
    const auto hold = parse_hold(one.substr(sign + 2));
    if (!hold) return invalid("", hold.error());
    if (!stages.empty() && *percent <= stages.back().percent)
      return invalid("", shown(one) + " is not above the stage before; a rollout only grows");
    stages.push_back({static_cast<int>(*percent), *hold});
  }
  if (stages.empty() || stages.size() > kRolloutStagesMax)
    return invalid("", "a rollout has from 1 to " + std::to_string(kRolloutStagesMax) + " stages");
  return stages;
}

std::vector<ledger::Draft> rollout_drafts(const StagedRollout& rollout, std::int64_t version,
                                          std::string_view action) {
  std::vector<ledger::Draft> drafts;
  drafts.push_back({.kind = ledger::Kind::kRollout,
                    .name = rollout.candidate.id,
                    .action = std::string(action),
                    .body = write_rollout(rollout),
                    .expected_version = version});
  if (rollout.state != RolloutState::kFinished) return drafts;
  ledger::Draft& policy = drafts.emplace_back();
  policy.kind = ledger::Kind::kPolicy;
  policy.name = rollout.candidate.id;
  policy.action = "rollout";
  policy.expected_version = rollout.candidate.version;
  write_policy(rollout.candidate, policy.body);
  return drafts;
}

}  // namespace sluice::control
