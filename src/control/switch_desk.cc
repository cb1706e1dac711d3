#include "control/switch_desk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/switch_limits.h"
#include "policy/document_builder.h"
#include "policy/document_text.h"
#include "policy/fields.h"

namespace sluice::control {
namespace {

using Hand = BigSwitch::Hand;
using ledger::Kind;

constexpr std::int64_t kSecondUs = 1'000'000;
constexpr std::string_view kName = "switch";  // of its document

std::string_view mode_of(const SwitchWord& word) { return word.open ? "open" : "normal"; }

// The body of its record. Who and why stand in the record itself.
std::string write_word(const SwitchWord& word) {
  DocumentNode map = map_node();
  put(map, "mode", text_node(mode_of(word)));
  if (word.open) put(map, "until", text_node(instant_text(word.until_us)));
  std::string text;
  append_json(map, text);
  return text;
}

Result<SwitchWord> parse_word(std::string_view body, const std::string& name) {
  constexpr std::array<std::string_view, 2> kNames = {"mode", "until"};
  Problems problems;
  SwitchWord word;
  if (const auto tree = parse_document_tree(body, name, problems)) {
    const Place place{name, problems};
    const Fields fields(*tree, place, kNames);
    word.open = fields.text("mode", parse_switch_mode).value_or(false);
    word.until_us = fields.text("until", parse_instant_us).value_or(0);
    fields.missing("mode");
    if (word.open) fields.missing("until");
  }
  if (!problems.empty()) return std::unexpected(problems.first_error());
  return word;
}

std::string said(const SwitchWord& word) {
  return " (" + word.actor + ": " + (word.reason.empty() ? "no reason given" : word.reason) + ")";
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

void SwitchDesk::turn(Hand hand, const Order& order) {
  const std::lock_guard lock(turning_);
  const std::int64_t now_us = clock_.now_us();
  // Later than the word before, whatever another node's clock said: who turns it has seen that.
  SwitchWord word{.open = order.open,
                  .at_us = std::max(now_us, switch_.word(hand).at_us + 1),
                  .until_us = order.open ? now_us + order.ttl_seconds * kSecondUs : 0,
                  .actor = order.actor,
                  .reason = order.reason};
  switch_.say(hand, word, now_us);
  log_(word.open, sentence_of(word));
  const bool is_event = hand == Hand::kFile;
  post_({.drafts = {{.kind = is_event ? Kind::kEvent : Kind::kSwitch,
                     .name = std::string(kName),
                     .action = std::string(mode_of(word)),
                     .body = write_word(word),
                     .expected_version = std::nullopt}},
         .actor = word.actor,
         .reason = word.reason,
         .at_us = word.at_us,
         .request_id = ""});
}

void SwitchDesk::expire() {
  if (switch_.expire(clock_.now_us())) log_(false, "the big red switch is back to normal: its time is over");
}

std::string SwitchDesk::problem() const {
  return switch_.is_open() ? sentence_of(in_force()) : std::string();
}

Result<void> SwitchDesk::check(std::span<const ledger::Draft* const> drafts) {
  for (const ledger::Draft* draft : drafts)
    if (const auto word = parse_word(draft->body, draft->name); !word) return std::unexpected(word.error());
  return {};
}

std::map<std::string, std::string> SwitchDesk::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  const std::int64_t now_us = clock_.now_us();
  for (const ledger::Record* record : records) {
    if (record->name != kName) continue;
    auto word = parse_word(record->body, record->name);
    if (!word) {
      problems[record->name] = "the big red switch's record cannot be read: " + word.error().message;
      continue;
    }
    word->at_us = record->at_us;
    word->until_us = std::min(word->until_us, now_us + kSwitchSecondsMax * kSecondUs);
    word->actor = record->actor;
    word->reason = record->reason;
    const bool was_open = switch_.is_open();
    if (switch_.say(Hand::kOperators, *word, now_us) && (was_open || switch_.is_open()))
      log_(word->open, sentence_of(*word));
  }
  return problems;
}

}  // namespace sluice::control
