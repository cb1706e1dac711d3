#include "control/switch_controller.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/limits/switch_limits.h"
#include "base/time_units.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/fields.h"
#include "telemetry/prometheus.h"

namespace sluice::control {
namespace {

using Hand = BigSwitch::Hand;
using ledger::Kind;

constexpr std::string_view kName = "switch";  // the name of its document

std::string_view mode_of(const SwitchWord& word) { return word.open ? "open" : "normal"; }

// Orders that reach the ledger this soon after they were given count as simultaneous: the clocks of two
// machines cannot tell which was first.
constexpr std::int64_t kSameTimeUs = kSecondUs;

// The body of its record. The record itself says who and why.
std::string write_word(const SwitchWord& word, bool is_superseded = false) {
  DocumentNode map = map_node();
  put(map, "mode", text_node(mode_of(word)));
  if (word.open) {
    put(map, "until", text_node(instant_text(word.until_us)));
    put(map, "ttl_seconds", number_node(word.ttl_us / kSecondUs));
  }
  if (is_superseded) put(map, "superseded", truth_node(true));
  std::string text;
  append_json(map, text);
  return text;
}

Result<SwitchWord> parse_word(std::string_view body, const std::string& name) {
  constexpr std::array<std::string_view, 3> kNames = {"mode", "until", "ttl_seconds"};
  Problems problems;
  SwitchWord word;
  if (const auto tree = parse_document_tree(body, name, problems)) {
    const Place place{name, problems};
    const Fields fields(*tree, place, kNames);
    word.open = fields.text("mode", parse_switch_mode).value_or(false);
    word.until_us = fields.text("until", parse_instant_us).value_or(0);
    word.ttl_us = fields.integer("ttl_seconds", kSwitchSecondsMin, kSwitchSecondsMax).value_or(0) * kSecondUs;
    fields.missing("mode");
    if (word.open) fields.missing("until");
  }
  if (!problems.empty()) return std::unexpected(problems.first_error());
  return word;
}

Result<SwitchWord> read_word(const ledger::Record& record) {
  SwitchWord word = SLUICE_TRY(parse_word(record.body, record.name));
  word.at_us = record.at_us;
  if (word.open && word.ttl_us == 0)  // a record without it
    word.ttl_us = std::min(word.until_us - word.at_us, kSwitchSecondsMax * kSecondUs);
  word.actor = record.actor;
  word.reason = record.reason;
  return word;
}

std::string unreadable(const Error& error) {
  return "the big red switch's record cannot be read: " + error.message;
}

std::string said(const SwitchWord& word) {
  return " (" + word.actor + ": " + (word.reason.empty() ? "no reason given" : word.reason) + ")";
}

std::string doubtful(const SwitchWord& word) {
  return "the big red switch was open until " + instant_text(word.until_us) + said(word) +
         " according to the copy of the policy database; only the database knows whether it still is, so it "
         "is normal here";
}

std::string sentence_of(const SwitchWord& word) {
  if (!word.open) return "the big red switch is back to normal" + said(word);
  return "the big red switch is open until " + instant_text(word.until_us) +
         ": every check is allowed, nothing is charged" + said(word);
}

}  // namespace

Literal<bool> parse_switch_mode(std::string_view text) {
  if (text == "open" || text == "normal") return text == "open";
  return std::unexpected(shown(text) + " is neither open nor normal");
}

void SwitchController::turn(Hand hand, const Order& order) {
  const Lock lock(turning_);
  const std::int64_t now_us = clock_.now_us();
  // Later than the previous order, whatever another node's clock said: the author of this one has seen that
  // order.
  SwitchWord word{.open = order.open,
                  .at_us = std::max({now_us, switch_.word(hand).at_us + 1, written().at_us + 1}),
                  .until_us = order.open ? now_us + order.ttl_seconds * kSecondUs : 0,
                  .ttl_us = order.open ? order.ttl_seconds * kSecondUs : 0,
                  .actor = order.actor,
                  .reason = order.reason};
  say(hand, word);
  log_(event_of(word), sentence_of(word), {{"actor", word.actor}, {"reason", word.reason}});
  const bool is_event = hand == Hand::kFile;
  Outbox::Revise revision;
  if (!is_event)
    revision = [this, word, now_us](const ledger::Change& change) { return revise(change, word, now_us); };
  post_({.drafts = {{.kind = is_event ? Kind::kEvent : Kind::kSwitch,
                     .name = std::string(kName),
                     .action = std::string(mode_of(word)),
                     .body = write_word(word),
                     .expected_version = std::nullopt}},
         .actor = word.actor,
         .reason = word.reason,
         .at_us = word.at_us,
         .request_id = ""},
        std::move(revision));
}

Outbox::Revise SwitchController::take_up(const ledger::Change& change) {
  const ledger::Draft& draft = change.drafts.front();
  if (draft.kind != Kind::kSwitch) return {};
  auto word = read_word({.name = draft.name,
                         .body = draft.body,
                         .actor = change.actor,
                         .reason = change.reason,
                         .at_us = change.at_us});
  if (!word) return {};
  if (!word->open) say(Hand::kOperators, *word);
  log_(LogEvent::kSwitchLate,
       "a change of the big red switch from the last run is still waiting for the policy database: " +
           std::string(mode_of(*word)) + " of " + instant_text(word->at_us) + said(*word));
  return [this, word = *std::move(word)](const ledger::Change& again) { return revise(again, word, 0); };
}

std::optional<ledger::Change> SwitchController::revise(const ledger::Change& change, SwitchWord word,
                                                       std::int64_t said_us) {
  word.at_us = change.at_us;  // it may have been revised before
  const SwitchWord newest = written();
  if (change.drafts.front().kind == Kind::kEvent || !newest.is_newer_than(word)) return std::nullopt;
  ledger::Change revised = change;
  if (clock_.now_us() - said_us < kSameTimeUs) {
    revised.at_us = newest.at_us + 1;
    return revised;
  }
  log_(LogEvent::kSwitchLate,
       "a late change of the big red switch is only logged, because it was changed again since" +
           said(newest) + ": " + std::string(mode_of(word)) + " of " + instant_text(word.at_us) + said(word));
  revised.drafts.front().kind = Kind::kEvent;
  revised.drafts.front().body = write_word(word, true);
  return revised;
}

SwitchWord SwitchController::written() const {
  const Lock lock(mutex_);
  return written_;
}

void SwitchController::note_written(const SwitchWord& word, bool by_a_copy) {
  const Lock lock(mutex_);
  // The ledger's order replaces one from a copy, even if it is older.
  if (!is_by_a_copy_ && !word.is_newer_than(written_) && word.at_us != 0) return;
  written_ = word;
  is_by_a_copy_ = by_a_copy;
}

bool SwitchController::say(Hand hand, const SwitchWord& word) {
  return switch_.say(hand, word, steady_clock_.now_us(), end_of(word));
}

// By the steady clock, as the wall clock is now.
std::int64_t SwitchController::end_of(const SwitchWord& word) const {
  return steady_clock_.now_us() + std::min(word.until_us - clock_.now_us(), word.ttl_us);
}

SwitchWord SwitchController::in_force() const {
  constexpr std::int64_t kReadingUs = 10'000;  // the two clocks are not read at the same moment
  auto [word, ends_us] = switch_.in_force(steady_clock_.now_us());
  const std::int64_t ends_wall_us = clock_.now_us() + (ends_us - steady_clock_.now_us());
  if (word.open && word.until_us > ends_wall_us + kReadingUs) word.until_us = ends_wall_us;
  return word;
}

void SwitchController::expire() {
  for (const Hand hand : {Hand::kOperators, Hand::kFile}) {
    const SwitchWord word = switch_.word(hand);
    switch_.shorten(hand, word, end_of(word));  // the wall clock may have been set forward
  }
  if (switch_.expire(steady_clock_.now_us()))
    log_(LogEvent::kSwitchClosed, "the big red switch is back to normal: its time to live has expired");
}

std::string SwitchController::problem() const {
  if (switch_.is_open()) return sentence_of(in_force());
  const Lock lock(mutex_);
  const bool may_be_open = is_by_a_copy_ && written_.holds_open_at(clock_.now_us()) &&
                           !switch_.word(Hand::kOperators).is_newer_than(written_);
  return may_be_open ? doubtful(written_) : std::string();
}

std::string SwitchController::metrics() const {
  PrometheusText text;
  text.family("rate_limiter_switch_open", "gauge",
              "Whether the big red switch is open, so that every check is allowed.");
  text.sample({}, switch_.is_open());
  return std::move(text).take();
}

Result<void> SwitchController::check(std::span<const ledger::Draft* const> drafts) {
  for (const ledger::Draft* draft : drafts) SLUICE_TRY(parse_word(draft->body, draft->name));
  return {};
}

std::map<std::string, std::string> SwitchController::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  for (const ledger::Record* record : records) {
    if (record->name != kName) continue;
    if (record->is_withdrawn()) {  // the copy had an order, but the ledger has none
      note_written({}, false);
      continue;
    }
    auto word = read_word(*record);
    if (!word) {
      problems[record->name] = unreadable(word.error());
      continue;
    }
    note_written(*word, false);
    const bool was_open = switch_.is_open();
    if (say(Hand::kOperators, *word) && (was_open || switch_.is_open()))
      log_(event_of(*word), sentence_of(word->open ? in_force() : *word));
  }
  return problems;
}

std::map<std::string, std::string> SwitchController::apply_copy(
    std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  for (const ledger::Record* record : records) {
    if (record->name != kName) continue;
    auto word = read_word(*record);
    if (!word)
      problems[record->name] = unreadable(word.error());
    else
      note_written(*word, true);
  }
  if (const std::string sentence = problem(); !sentence.empty()) log_(LogEvent::kSwitchLate, sentence);
  return problems;
}

}  // namespace sluice::control
