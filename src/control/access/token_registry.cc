#include "control/access/token_registry.h"

#include <algorithm>

namespace sluice::control {

std::optional<Principal> TokenRegistry::find(std::string_view token, std::int64_t now_us) const {
  if (!is_token(token)) return std::nullopt;
  const std::string hash = hash_token(token);
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end() || !found->second->holds_at(now_us)) return std::nullopt;
  return found->second->principal();
}

bool TokenRegistry::empty() const {
  const std::lock_guard lock(mutex_);
  return by_hash_.empty();
}

bool TokenRegistry::can_administer(std::int64_t now_us) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(by_hash_, [now_us](const auto& entry) {
    return entry.second->holds_at(now_us) && entry.second->principal().can_administer();
  });
}

Result<void> TokenRegistry::check(std::span<const ledger::Draft* const> drafts) {
  for (const ledger::Draft* draft : drafts)
    if (!draft->body.empty())
      if (const auto token = parse_token(draft->body, draft->name); !token)
        return std::unexpected(token.error());
  return {};
}

std::map<std::string, std::string> TokenRegistry::apply(std::span<const ledger::Record* const> records) {
  std::map<std::string, std::string> problems;
  const std::lock_guard lock(mutex_);
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
    if (const auto old = hash_of_.find(record->name); old != hash_of_.end()) {
      by_hash_.erase(old->second);
      hash_of_.erase(old);
    }
    if (!token) continue;
    hash_of_[record->name] = token->hash;
    by_hash_[token->hash] = std::move(token);
  }
  return problems;
}

}  // namespace sluice::control
