#pragma once

#include <algorithm>

#include "engine/request/check_request.h"
#include "policy/snapshot/snapshot.h"

namespace sluice {

// What is agreed with the user and with the key of one request: tiers and overrides. Not thread-safe; reused.
//
// A limit takes what is agreed with whom it counts: one that counts `user` what is agreed with the user, one
// that counts only `key` what is agreed with the key, any other nothing. So a caller who may choose the
// dimension `user` cannot lift a limit on their key by naming a user with better terms.
class Agreements {
 public:
  // For the next request. Looks nothing up yet.
  void begin(const Snapshot& snapshot) {
    snapshot_ = snapshot.users().empty() ? nullptr : &snapshot;
    if (snapshot_) user_ = key_ = {};
  }
  // Nothing applies to the limits of this request.
  void skip() { snapshot_ = nullptr; }
  // Whether there may be any.
  bool any() const { return snapshot_ != nullptr; }

  // What applies to this limit; null: nothing. Looks up what no limit of the request needed before.
  // REQUIRES: any(); always the same dimensions until begin().
  const CompiledUser* of(const CompiledLimit& limit, const Dimensions& dimensions) {
    const DimensionKind who = whom_it_counts(limit);
    if (who == DimensionKind::kOther) return nullptr;
    const std::string_view key = dimensions.key(), user = dimensions.user();
    // Without a dimension `user` the key names the user.
    return who == DimensionKind::kKey || user.data() == key.data() ? look_up(key_, key)
                                                                   : look_up(user_, user);
  }

  // The tier of a request with this most specific policy: that agreed with whom its first limit counts which
  // counts somebody; if there is none, the tier that the request names. REQUIRES: as of().
  std::string_view tier_of(const CompiledPolicy* first_policy, const Dimensions& dimensions) {
    if (!first_policy) return dimensions.tier();
    const auto counts_somebody = [](const CompiledLimit& limit) {
      return whom_it_counts(limit) != DimensionKind::kOther;
    };
    const auto limit = std::ranges::find_if(first_policy->limits, counts_somebody);
    const CompiledUser* const agreed = limit == first_policy->limits.end() ? nullptr : of(*limit, dimensions);
    return agreed && !agreed->source.tier.empty() ? std::string_view(agreed->source.tier) : dimensions.tier();
  }

 private:
  struct Found {
    bool is_known = false;
    const CompiledUser* user = nullptr;
  };

  // kUser, kKey, or kOther: nobody.
  static DimensionKind whom_it_counts(const CompiledLimit& limit) {
    DimensionKind who = DimensionKind::kOther;
    for (const CompiledDimension& dimension : *limit.key) {
      if (dimension.kind == DimensionKind::kUser) return DimensionKind::kUser;
      if (dimension.kind == DimensionKind::kKey) who = DimensionKind::kKey;
    }
    return who;
  }
  const CompiledUser* look_up(Found& found, std::string_view id) const {
    if (!found.is_known) found = {true, snapshot_->find_user(id)};
    return found.user;
  }

  const Snapshot* snapshot_ = nullptr;  // null: there are none
  Found user_;
  Found key_;
};

}  // namespace sluice
