#include "redis/sentinel/sentinel.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/limits.h"

namespace sluice::redis {
namespace {

constexpr std::size_t kReasonBytesMax = 80;

}  // namespace

Sentinel::Sentinel(Transport& transport, const Clock& clock, SentinelOptions options, Random random)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      random_(std::move(random)),
      sentinels_(options_.sentinels),
      sessions_{{transport, clock, options_.session, *this}, {transport, clock, options_.session, *this}} {
  assert(!sentinels_.empty());
}

std::string Sentinel::describe() const {
  const std::string name =
      (options_.session.asks_for_replicas ? "replica of " : "master ") + options_.session.master_name;
  return found_.host.empty() ? name : found_.to_string() + " (" + name + ")";
}

void Sentinel::find(AddressEvents& events, bool another) {
  events_ = &events;
  awaited_ = true;
  wants_another_ = another;
  if (in_round_) return;
  if (another) std::ranges::rotate(sentinels_, sentinels_.begin() + 1);
  begin_round();
}

void Sentinel::tick(std::int64_t now_us) {
  asking_->tick(now_us);
  listening_->tick(now_us);
  if (votes_missing_ > 0)
    for (const auto& session : surveyed_) session->tick(now_us);
  if (in_round_ || votes_missing_ > 0) return;
  if (now_us >= listen_at_us_)
    begin_round();
  else if (now_us >= survey_at_us_)
    begin_survey(now_us);
}

void Sentinel::begin_round() {
  in_round_ = true;
  listen_at_us_ = INT64_MAX;
  not_known_ = 0;
  failures_.clear();
  to_ask_.assign(sentinels_.rbegin(), sentinels_.rend());
  std::ranges::stable_partition(to_ask_, [this](const Address& each) { return is_outvoted(each); });
  ask_next();
}

void Sentinel::ask_next() {
  while (!to_ask_.empty()) {
    const Address sentinel = std::move(to_ask_.back());
    to_ask_.pop_back();
    std::string why;
    if (asking_->open(sentinel, why)) return;
    note_failure(sentinel, why);
  }
  end_round_without_answer();
}

void Sentinel::begin_survey(std::int64_t now_us) {
  survey_at_us_ = now_us + options_.survey_every_us;
  if (!listening_->is_open()) return;
  votes_.assign(1, {master_, {listening_->sentinel()}});
  surveyed_.clear();
  votes_missing_ = 1;  // until all are asked
  SentinelSessionEvents& events = *this;
  for (const Address& each : sentinels_) {
    if (same_place(each, listening_->sentinel())) continue;
    surveyed_.push_back(std::make_unique<SentinelSession>(transport_, clock_, options_.session, events));
    std::string why;
    if (surveyed_.back()->open(each, why)) ++votes_missing_;
  }
  if (--votes_missing_ == 0) end_survey();
}

// What they are about to answer may be old.
void Sentinel::stop_survey() {
  for (const auto& session : surveyed_) session->close();
  votes_missing_ = 0;
}

void Sentinel::end_vote(SentinelSession& session) {
  session.close();
  if (--votes_missing_ == 0) end_survey();
}

void Sentinel::end_survey() {
  problem_.clear();
  outvoted_.clear();
  if (votes_.size() < 2) return;
  std::size_t voters = 0;
  std::string said;
  for (const Vote& vote : votes_) {
    voters += vote.voters.size();
    said += (said.empty() ? "" : ", ") + vote.master.host + ":" + std::to_string(vote.master.port) + " (";
    for (std::size_t i = 0; i < vote.voters.size(); ++i)
      said += (i == 0 ? "" : ", ") + vote.voters[i].place();
    said += ")";
  }
  problem_ = "the Sentinels disagree about the master " + options_.session.master_name + ": " + said +
             "; remove the Sentinel that belongs to another group, or fix its network";
  const auto most = std::ranges::max_element(votes_, {}, [](const Vote& vote) { return vote.voters.size(); });
  if (most->voters.size() * 2 <= voters) return;
  for (const Vote& vote : votes_)
    if (&vote != &*most) outvoted_.insert(outvoted_.end(), vote.voters.begin(), vote.voters.end());
  if (most->master == master_) return;
  move_to_front(most->voters.front());
  asking_->close();
  begin_round();
}

void Sentinel::note_failure(const Address& sentinel, std::string_view why) {
  if (why.empty()) {
    ++not_known_;
    return;
  }
  if (!failures_.empty()) failures_ += "; ";
  failures_ += sentinel.place() + ": ";
  failures_ += why.substr(0, kReasonBytesMax);
}

void Sentinel::end_round_without_answer() {
  in_round_ = false;
  if (!listening_->is_open()) listen_at_us_ = clock_.now_us() + listen_wait_us();
  if (!std::exchange(awaited_, false)) return;
  if (not_known_ > 0) {
    events_->on_no_address("no Sentinel knows a master named " + options_.session.master_name);
  } else {
    events_->on_no_address("no Sentinel answers: " + failures_);
  }
}

std::int64_t Sentinel::listen_wait_us() {
  const auto half = static_cast<std::uint64_t>(options_.listen_again_us / 2);
  return static_cast<std::int64_t>(half + random_(half + 1));
}

void Sentinel::move_to_front(const Address& sentinel) {
  const auto at =
      std::ranges::find_if(sentinels_, [&](const Address& each) { return same_place(each, sentinel); });
  if (at != sentinels_.end()) std::rotate(sentinels_.begin(), at, at + 1);
}

bool Sentinel::is_outvoted(const Address& sentinel) const {
  return std::ranges::any_of(outvoted_, [&](const Address& each) { return same_place(each, sentinel); });
}

void Sentinel::on_master(SentinelSession& session, const HostAndPort& master) {
  if (&session != asking_) {
    const auto same = std::ranges::find(votes_, master, &Vote::master);
    (same == votes_.end() ? votes_.emplace_back(Vote{master, {}}) : *same)
        .voters.push_back(session.sentinel());
    return end_vote(session);
  }
  master_ = master;
  if (options_.survey_every_us > 0 && survey_at_us_ == INT64_MAX)
    survey_at_us_ = clock_.now_us() + options_.listen_again_us;
  move_to_front(session.sentinel());
  listening_->close();
  std::swap(asking_, listening_);
  listening_since_us_ = clock_.now_us();
  in_round_ = false;
  const bool awaited = std::exchange(awaited_, false);
  const auto place = options_.session.asks_for_replicas ? choose_replica(awaited) : master;
  if (!place) {
    if (awaited)
      events_->on_no_address("the Sentinels report no healthy replica of " + options_.session.master_name);
    return;
  }
  found_ = options_.master;
  found_.host = place->host;
  found_.port = place->port;
  events_->on_address(found_);
}

// A random one, so that many clients spread; the current one, unless the choice is to be made `anew`.
std::optional<HostAndPort> Sentinel::choose_replica(bool anew) {
  HostAndPort last{found_.host, found_.port};
  const bool last_is_there = std::ranges::find(replicas_, last) != replicas_.end();
  if (last_is_there && !anew) return last;
  if (last_is_there && std::exchange(wants_another_, false) && replicas_.size() > 1)
    std::erase(replicas_, last);
  if (replicas_.empty()) return std::nullopt;
  return replicas_[random_(replicas_.size())];
}

// The configured Sentinels stay, whatever others say; so does the one that tells us, which does not name
// itself.
void Sentinel::on_other_sentinels(SentinelSession& session, const std::vector<HostAndPort>& others) {
  if (others.empty()) return;
  std::erase_if(sentinels_, [&](const Address& known) {
    const auto is_known = [&](const Address& each) { return same_place(each, known); };
    return !is_known(session.sentinel()) && std::ranges::none_of(options_.sentinels, is_known) &&
           std::ranges::find(others, HostAndPort{known.host, known.port}) == others.end();
  });
  for (const HostAndPort& other : others) {
    if (sentinels_.size() >= kSentinelsMax) return;
    Address address = session.sentinel();
    address.host = other.host;
    address.port = other.port;
    const auto is_it = [&](const Address& each) { return same_place(each, address); };
    if (std::ranges::none_of(sentinels_, is_it)) sentinels_.push_back(std::move(address));
  }
}

// This one knows best: what the others are about to answer may be old.
void Sentinel::on_switch(SentinelSession& session) {
  move_to_front(session.sentinel());
  asking_->close();
  stop_survey();
  begin_round();
}

void Sentinel::on_session_ended(SentinelSession& session, std::string_view why) {
  if (&session == asking_) {
    note_failure(session.sentinel(), why);
    return ask_next();
  }
  if (&session != listening_) return end_vote(session);
  // At once, unless the subscription lasted only a moment.
  listen_at_us_ = std::max(clock_.now_us(), listening_since_us_ + listen_wait_us());
}

}  // namespace sluice::redis
