#include "plan/report/timeline.h"

#include <algorithm>
#include <cassert>

namespace sluice::plan {

void Timeline::widen() {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const Bucket from = buckets_[i];
    buckets_[i] = {};
    Bucket& into = buckets_[i / 2];
    into.requests += from.requests;
    into.denied += from.denied;
    into.newly_denied += from.newly_denied;
  }
  used_ = (used_ + 1) / 2;
  width_us_ *= 2;
}

void Timeline::add(std::int64_t at_us, bool denied, bool newly_denied) {
  if (begin_us_ < 0) begin_us_ = at_us - at_us % width_us_;
  assert(at_us >= begin_us_);
  while ((at_us - begin_us_) / width_us_ >= static_cast<std::int64_t>(kBuckets)) widen();
  const auto index = static_cast<std::size_t>((at_us - begin_us_) / width_us_);
  used_ = std::max(used_, index + 1);
  ++buckets_[index].requests;
  buckets_[index].denied += denied;
  buckets_[index].newly_denied += newly_denied;
}

}  // namespace sluice::plan
