#include "control/access/token_registry.h"

#include <algorithm>

#include "base/try.h"

namespace sluice::control {

std::optional<Principal> Tokens::find(std::string_view token, std::int64_t now_us) const {
  if (!is_token(token)) return std::nullopt;
  const auto found = by_hash_.find(hash_token(token));
  if (found == by_hash_.end() || !found->second->holds_at(now_us)) return std::nullopt;
  return found->second->principal();
}

bool Tokens::can_administer(std::int64_t now_us) const {
  return std::ranges::any_of(by_hash_, [now_us](const auto& entry) {
    return entry.second->holds_at(now_us) && entry.second->principal().can_administer();
  });
}

Result<void> TokenRegistry::check(std::span<const ledger::Draft* const> drafts) {
  for (const ledger::Draft* draft : drafts)
    if (!draft->body.empty()) SLUICE_TRY(parse_token(draft->body, draft->name));
  return {};
}

std::map<std::string, std::string> TokenRegistry::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  // Published as a whole: if this runs out of memory, nothing has changed.
  auto tokens = std::make_shared<Tokens>(*published_.current());
  for (const ledger::Record* record : records) {
    std::shared_ptr<const Token> token;
    if (!record->is_withdrawn()) {
      auto parsed = parse_token(record->body, record->name);
      if (!parsed) {
        problems[record->name] = "token \"" + record->name + "\" cannot be read: " + parsed.error().message;
        continue;
      }
      token = std::make_shared<const Token>(std::move(*parsed));
    }
    if (const auto old = tokens->hash_of_.find(record->name); old != tokens->hash_of_.end()) {
      tokens->by_hash_.erase(old->second);
      tokens->hash_of_.erase(old);
    }
    if (!token) continue;
    tokens->hash_of_[record->name] = token->hash;
    tokens->by_hash_[token->hash] = std::move(token);
  }
  published_.publish(std::move(tokens));
  return problems;
}

}  // namespace sluice::control
