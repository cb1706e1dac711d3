#include "policy/document/user_document.h"

#include <algorithm>
#include <array>

#include "base/limits/override_limits.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/fields.h"
#include "document/literals.h"
#include "policy/document/limit_reader.h"

namespace sluice {
namespace {

std::optional<Override> read_override(const DocumentNode& node, const Place& place) {
  constexpr std::array<std::string_view, 6> kNames = {"policy_id", "limit",     "rate",
                                                      "burst",     "algorithm", "expires_at"};
  const std::size_t problems_before = place.problems.count();
  const Fields fields(node, place, kNames);
  if (!fields.is_map()) return std::nullopt;
  Override own;
  own.policy_id = fields.text("policy_id", parse_name).value_or("");
  own.limit = fields.text("limit", parse_name).value_or("");
  own.expires_us = fields.text("expires_at", parse_instant_us).value_or(0);
  for (const std::string_view name : {"policy_id", "limit", "rate"}) fields.missing(name);
  WrittenLimit written;
  written.algorithm = fields.text("algorithm", parse_algorithm).value_or(Algorithm::kGcra);
  written.rate = fields.text("rate", parse_rate);
  written.burst = fields.integer("burst", 0, kRateMax);
  if (const auto params = finish_params(written, node, place)) own.params = *params;
  if (place.problems.count() > problems_before) return std::nullopt;
  return own;
}

DocumentNode override_document(const Override& own) {
  DocumentNode map = map_node();
  put(map, "policy_id", text_node(own.policy_id));
  put(map, "limit", text_node(own.limit));
  put(map, "rate", text_node(rate_text(own.params.rate)));
  if (own.params.capacity != own.params.rate.count) put(map, "burst", number_node(own.params.capacity));
  if (own.params.algorithm != Algorithm::kGcra)
    put(map, "algorithm", text_node(to_string(own.params.algorithm)));
  if (own.expires_us != 0) put(map, "expires_at", text_node(instant_text(own.expires_us)));
  return map;
}

}  // namespace

std::optional<User> parse_user(std::string_view text, const std::string& id, Problems& problems) {
  constexpr std::array<std::string_view, 2> kNames = {"tier", "overrides"};
  const auto tree = parse_document_tree(text, id, problems);
  if (!tree) return std::nullopt;
  const Place top{id, problems};
  const Fields fields(*tree, top, kNames);
  if (!fields.is_map()) return std::nullopt;
  User user;
  user.id = id;
  user.tier = fields.text("tier", parse_name).value_or("");
  const DocumentNode* const list = fields.node("overrides");
  const Place place = top.field("overrides");
  if (list && is_list(*list, place)) {
    if (list->items.size() > kOverridesInAllMax)
      place.report(list->line, "a user has at most " + std::to_string(kOverridesInAllMax) + " overrides");
    else
      for (std::size_t i = 0; i < list->items.size(); ++i)
        if (auto own = read_override(list->items[i], place.item(i)))
          user.overrides.push_back(std::move(*own));
  }
  if (!problems.empty()) return std::nullopt;
  return user;
}

void write_user(const User& user, std::string& out) {
  DocumentNode map = map_node();
  put_text(map, "tier", user.tier);
  if (!user.overrides.empty()) {
    DocumentNode list = list_node();
    for (const Override& own : user.overrides) list.items.push_back(override_document(own));
    put(map, "overrides", std::move(list));
  }
  append_json(map, out);
}

}  // namespace sluice
