#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/limit_params.h"
#include "store/params_table.h"

// Tiers and overrides of single users, beside the policies.
namespace sluice {

// Different numbers for one user in one limit of one policy.
struct Override {
  std::string policy_id;
  std::string limit;
  LimitParams params;
  std::int64_t expires_us = 0;  // 0: never
  friend bool operator==(const Override&, const Override&) = default;
};

struct User {
  std::string id;    // the dimension `user`
  std::string tier;  // empty: the tier in the request applies
  std::vector<Override> overrides;
  friend bool operator==(const User&, const User&) = default;
};

// Hash of a policy's id and a limit's name; finds an override without comparing texts.
std::uint64_t limit_name_hash(std::string_view policy_id, std::string_view limit);

// A user, ready for the hot path. It does not point into policies, so policies may change independently.
struct CompiledUser {
  struct Numbers {
    std::uint64_t name_hash = 0;  // of policy and limit
    ParamsId params = 0;
    const LimitParams* numbers = nullptr;
    std::int64_t expires_us = 0;  // 0: never

    bool holds_at(std::int64_t now_us) const { return expires_us == 0 || now_us < expires_us; }
  };

  User source;
  std::vector<Numbers> numbers;  // parallel to source.overrides

  std::string_view name() const { return source.id; }
  // The user's own numbers for a limit, expired or not; null: none.
  const Numbers* numbers_of(std::uint64_t limit_name_hash) const {
    for (const Numbers& each : numbers)
      if (each.name_hash == limit_name_hash) return &each;
    return nullptr;
  }
};

}  // namespace sluice
