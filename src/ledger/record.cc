#include "ledger/record.h"

#include <array>
#include <utility>

namespace sluice::ledger {
namespace {

constexpr std::array<std::pair<Kind, std::string_view>, 7> kKinds = {{{Kind::kPolicy, "policy"},
                                                                      {Kind::kUser, "user"},
                                                                      {Kind::kToken, "token"},
                                                                      {Kind::kRollout, "rollout"},
                                                                      {Kind::kSwitch, "switch"},
                                                                      {Kind::kEvent, "event"},
                                                                      {Kind::kRetention, "retention"}}};

}  // namespace

std::string_view to_string(Kind kind) {
  for (const auto& [known, text] : kKinds)
    if (known == kind) return text;
  return "";
}

std::optional<Kind> kind_from(std::string_view text) {
  for (const auto& [known, name] : kKinds)
    if (name == text) return known;
  return std::nullopt;
}

}  // namespace sluice::ledger
