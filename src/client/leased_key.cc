#include "client/leased_key.h"

#include <algorithm>
#include <utility>

namespace sluice {

namespace {

// The next lease is asked for when less than a fifth of this one is left.
constexpr std::int64_t low_mark_of(std::int64_t granted) { return std::max(granted / 5, std::int64_t{1}); }

// A lease in use is replaced that long before it expires, so that nobody has to wait.
constexpr std::int64_t kRenewalUs = 200'000;

// A server that denies without saying for how long is asked again after this.
constexpr std::int64_t kDenialLeastUs = 1'000;

// Holders that were denied until the same moment come back within this time after it.
constexpr std::int64_t kSpreadMostUs = kSecondUs;

}  // namespace

std::int64_t LeasedKey::want(std::int64_t now_us) {
  end_expired(now_us);
  observe(now_us);
  if (is_closed_ || asked_for_ > 0) return 0;
  if (bucket_.is_gone()) extend(now_us);
  if (now_us < retry_at_us_) return 0;  // next_due_us() comes back to it; waking the owner would not help
  const bool is_asked = is_needed(now_us);
  retry_at_us_ = 0;
  if (now_us >= renew_at_us_) renew_at_us_ = kNever;
  if (!is_asked) {
    bucket_.refill_answered(low_mark_);
    return 0;
  }
  has_demand_ = false;
  asked_at_us_ = now_us;
  asks_again_ = unanswered_ > 0;
  asked_for_ = asks_again_ ? unanswered_ : jittered(size_.want(refresh_us_, now_us, bucket_.left()));
  return asked_for_;
}

void LeasedKey::use_safe_capacity(std::int64_t now_us) {
  end_expired(now_us);
  observe(now_us);
  if (bucket_.is_gone() && !is_closed_) extend(now_us);
}

void LeasedKey::pass_time(std::int64_t now_us) {
  end_expired(now_us);
  observe(now_us);
  if (now_us >= retry_at_us_) retry_at_us_ = 0;
  if (now_us >= renew_at_us_) renew_at_us_ = kNever;
}

bool LeasedKey::is_needed(std::int64_t now_us) const {
  return has_demand_ && (bucket_.left() < low_mark_ || now_us >= renew_at_us_ || bucket_.is_gone());
}

void LeasedKey::on_answer(const LeaseAnswer& answer, std::int64_t now_us) {
  const std::int64_t asked_for = std::exchange(asked_for_, 0);
  unanswered_ = 0;
  if (is_closed_) {
    if (answer.granted > 0) unused_.push_back({answer.lease_id, answer.granted});
    return;
  }
  end_expired(now_us);
  observe(now_us);
  bucket_.set_gone(false);
  end_safe_capacity();  // the server is back, whatever it says
  retry_us_ = 0;
  if (answer.granted < asked_for)
    size_.on_denied(asked_for);
  else
    size_.on_granted();
  was_denied_ = answer.granted == 0;
  if (answer.refresh_after_us > 0) refresh_us_ = answer.refresh_after_us;
  if (answer.granted > 0) {
    hold(answer, now_us);
    return;
  }
  // A limit of 0 never has room.
  const std::int64_t wait_us =
      answer.retry_after_us < 0 ? kRetryMostUs : std::max(answer.retry_after_us, kDenialLeastUs);
  // All holders were told the same moment. Each comes a little later, or the quickest would take it all.
  const auto spread_us = static_cast<double>(std::min(wait_us, kSpreadMostUs));
  retry_at_us_ = now_us + wait_us + static_cast<std::int64_t>(random_() * spread_us);
  // Those who asked are denied. Units are asked for again if somebody comes for them meanwhile, or later.
  bucket_.deny_until(retry_at_us_);
}

void LeasedKey::hold(const LeaseAnswer& lease, std::int64_t now_us) {
  bucket_.deny_until(0);
  make_room();
  // It began when it was granted, at the latest when we asked.
  const std::int64_t expires_us = asked_at_us_ + lease.expires_after_us;
  const std::int64_t units = std::min(lease.granted, LeaseBucket::kUnitsMax);
  const std::size_t part = bucket_.add(units, expires_us);
  held_[part] = {.lease_id = lease.lease_id, .seen_left = units};
  safe_capacity_ = std::min(lease.safe_capacity, LeaseBucket::kUnitsMax);
  extension_ends_us_ = expires_us + kExtensionUs;
  renew_at_us_ = std::max(expires_us - kRenewalUs, now_us + lease.expires_after_us / 2);
  low_mark_ = low_mark_of(lease.granted);
  bucket_.refill_answered(low_mark_);
}

void LeasedKey::end_safe_capacity() {
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part) && held_[part].lease_id.empty()) end(part);
}

// Of two leases the one with less left makes room: either it is used up, or its rest was too small for the
// costs that came.
void LeasedKey::make_room() {
  if (!bucket_.has_free_part()) end(bucket_.left(0) <= bucket_.left(1) ? 0 : 1);
}

void LeasedKey::on_unreachable(std::int64_t now_us) {
  unanswered_ = std::exchange(asked_for_, 0);
  if (is_closed_) return;
  has_demand_ = true;
  bucket_.set_gone(true);
  retry_us_ = std::clamp(2 * retry_us_, kRetryLeastUs, kRetryMostUs);
  const double part = 0.5 + random_() / 2;
  retry_at_us_ = now_us + static_cast<std::int64_t>(static_cast<double>(retry_us_) * part);
  end_expired(now_us);
  observe(now_us);
  extend(now_us);
  bucket_.refill_answered(0);  // so that the first who finds nothing wakes us, for the safe capacity
}

// The safe capacity of the latest lease, once nothing else is left; once a minute, however often the server
// comes and goes.
void LeasedKey::extend(std::int64_t now_us) {
  if (safe_capacity_ <= 0 || bucket_.left() > 0 || now_us >= extension_ends_us_) return;
  if (now_us < safe_again_us_) return;
  safe_again_us_ = now_us + kExtensionUs;
  make_room();
  const std::int64_t units = std::exchange(safe_capacity_, 0);
  const std::size_t part = bucket_.add(units, extension_ends_us_, true);
  held_[part] = {.lease_id = {}, .seen_left = units};
}

std::int64_t LeasedKey::next_due_us() const {
  if (is_closed_) return kNever;
  std::int64_t due_us = kNever;
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part)) due_us = std::min(due_us, bucket_.expires_us(part));
  if (asked_for_ > 0) return due_us;
  if (retry_at_us_ > 0) return std::min(due_us, retry_at_us_);
  return std::min(due_us, renew_at_us_);
}

void LeasedKey::close(std::int64_t now_us) {
  is_closed_ = true;
  end_expired(now_us);
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part)) end(part);
}

std::optional<LeasedKey::Unused> LeasedKey::take_unused() {
  if (unused_.empty()) return std::nullopt;
  Unused unused = std::move(unused_.back());
  unused_.pop_back();
  return unused;
}

bool LeasedKey::holds(std::string_view lease_id) const {
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part) && held_[part].lease_id == lease_id) return true;
  return std::ranges::find(unused_, lease_id, &Unused::lease_id) != unused_.end();
}

void LeasedKey::end_expired(std::int64_t now_us) {
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part) && now_us >= bucket_.expires_us(part)) take_back(part);
}

void LeasedKey::end(std::size_t part) {
  const std::int64_t units = take_back(part);
  if (units > 0 && !held_[part].lease_id.empty()) unused_.push_back({held_[part].lease_id, units});
}

std::int64_t LeasedKey::take_back(std::size_t part) {
  const std::int64_t unused = bucket_.take_back(part);
  note_spent(part, unused);
  return unused;
}

void LeasedKey::note_spent(std::size_t part, std::int64_t left) {
  const std::int64_t spent = std::exchange(held_[part].seen_left, left) - left;
  if (held_[part].lease_id.empty()) safe_spent_ += spent;
  unobserved_ += spent;
}

// What nobody got because the server has no room is no reason to ask for more.
void LeasedKey::observe(std::int64_t now_us) {
  for (std::size_t part = 0; part < LeaseBucket::kParts; ++part)
    if (bucket_.is_used(part)) note_spent(part, bucket_.left(part));
  const std::int64_t missed = bucket_.take_missed();
  if (unobserved_ + missed > 0) {
    has_demand_ = true;
    demand_at_us_ = now_us;
  }
  if (now_us >= bucket_.denied_until_us()) unobserved_ += missed;
  size_.observe(std::exchange(unobserved_, 0), now_us);
}

std::int64_t LeasedKey::jittered(std::int64_t units) const {
  const double some = static_cast<double>(units) * (0.9 + random_() / 5);
  return std::clamp(static_cast<std::int64_t>(some), std::int64_t{1}, LeaseSize::kMax);
}

}  // namespace sluice
