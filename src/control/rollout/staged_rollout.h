#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "document/fields.h"
#include "ledger/record.h"
#include "policy/model.h"
#include "policy/snapshot/candidate.h"

// A staged rollout of a new version of a policy: a separate document in the ledger, under the policy's id.
// Every step is a new version of this document, so that all nodes follow it and the audit log records it.
//
//   {"state":"running","base_version":47,"stage":2,"started_at":"2026-12-01T10:00:00Z",
//    "since":"2026-12-01T10:10:00Z","stages":[{"percent":1,"hold":"10m"},{"percent":100,"hold":"1h"}],
//    "compare":true,"min_samples":1000,"sigmas":2,"policy":{…}}
namespace sluice::control {

// The texts ("running", …) are part of the database: they never change.
enum class RolloutState : std::uint8_t {
  kRunning,
  kFinished,    // the candidate has become the policy's next version
  kAborted,     // an operator stopped it, or the policy was changed meanwhile
  kRolledBack,  // the candidate denied too much
};
std::string_view to_string(RolloutState state);

struct RolloutStage {
  int percent = 0;           // share of the keys, by a stable hash; 0: the candidate is only compared
  std::int64_t hold_us = 0;  // until the next stage begins
  friend bool operator==(const RolloutStage&, const RolloutStage&) = default;
};

// A plain value.
struct StagedRollout {
  Policy candidate;  // its version is the one in force, which it will replace
  std::vector<RolloutStage> stages = default_stages();  // percentages increase
  bool compare = false;
  std::int64_t min_samples = 1000;  // decisions of each version before their denial rates are compared
  std::int64_t sigmas = 2;          // a denial rate higher by more than this is rolled back

  RolloutState state = RolloutState::kRunning;
  std::size_t stage = 0;  // position in `stages`
  std::int64_t started_us = 0;
  std::int64_t since_us = 0;  // when the stage began, or the rollout ended
  std::string note;           // why it has ended, in a sentence; may be empty

  static std::vector<RolloutStage> default_stages();

  bool is_running() const { return state == RolloutState::kRunning; }
  bool is_last_stage() const { return stage + 1 == stages.size(); }
  int percent() const { return stages[stage].percent; }
  // When the next step is due. A last stage below 100 % waits for an operator to call "advance".
  bool waits_for_word() const { return is_last_stage() && percent() < 100; }
  std::int64_t due_us() const { return since_us + stages[stage].hold_us; }
  Candidate as_candidate() const { return {candidate, percent(), compare, started_us}; }

  // The next version of the rollout. REQUIRES: it is running.
  StagedRollout advanced(std::int64_t now_us) const;  // to the next stage; from the last one, to finished
  StagedRollout ended(RolloutState how, std::string why, std::int64_t now_us) const;

  friend bool operator==(const StagedRollout&, const StagedRollout&) = default;
};

// Reads the fields that the author chooses: `policy`, `stages`, `compare`, `min_samples`, `sigmas`. Reports
// errors in them.
void read_rollout_plan(const Fields& fields, const Place& place, StagedRollout& rollout);

// Writes and reads the body of its record. Errors name the field.
std::string write_rollout(const StagedRollout& rollout);
Result<StagedRollout> parse_rollout(std::string_view body, const std::string& name);
DocumentNode stages_document(const std::vector<RolloutStage>& stages);

// "1%:10m,100%:1h", as in a setting: percentages increase. "default": default_stages().
Result<std::vector<RolloutStage>> parse_stages(std::string_view text);

// What to write for a rollout to become this, if its newest version is `version`. A finished rollout is
// written together with the policy's next version: both or neither.
std::vector<ledger::Draft> rollout_drafts(const StagedRollout& rollout, std::int64_t version,
                                          std::string_view action);

}  // namespace sluice::control
