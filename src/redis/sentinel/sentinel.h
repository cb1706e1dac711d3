#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "redis/connection/address_source.h"
#include "redis/connection/transport.h"
#include "redis/sentinel/sentinel_session.h"

namespace sluice::redis {

struct SentinelOptions {
  std::vector<Address>
      sentinels;   // with the login for Sentinels, which have users and passwords of their own
  Address master;  // the login for the master; its host and port are what we look for
  SentinelSessionOptions
      session;  // the master's name; with asks_for_replicas, look for one of its replicas instead
  std::int64_t listen_again_us = 1'000'000;  // if no Sentinel can be subscribed to: half of this to all of it
  std::int64_t survey_every_us = 10'000'000;  // the first one comes listen_again_us after an answer; 0: never
};

// Finds the master that a group of Sentinels watches, and notices when it changes. Belongs to one Connection
// and its thread.
//
//   options.source = std::make_shared<Sentinel>(
//       transport, clock, SentinelOptions{.sentinels = target.addresses, .master = target.login,
//                                         .session = {.master_name = target.master_name}}, random);
//   Connection connection(transport, clock, options, random, events);
//
// Asks one Sentinel after the other, starting with the one that answered last; a silent one costs a moment.
// If an answer does not work (a Sentinel that is cut off from the others still names the old master), the
// next question goes to another Sentinel. Other Sentinels that they name are asked, too.
//
// We then subscribe to the Sentinel that answered: it announces a new master. So we move at once, even while
// the old master, back from a long pause, still thinks it is the master; but nothing depends on it. If the
// subscription is lost, we ask again where the master is, and subscribe to the Sentinel that answers.
//
// One Sentinel may be wrong for good: left over from another group, or cut off without knowing it. So all of
// them are asked now and then, at the same time. If most of those that answer name another master, we use
// that one; problem() says which Sentinels disagree. All nodes that ask the same Sentinels find the same
// master. Until the next survey, Sentinels that were outvoted are asked last: their master may work while the
// right one pauses.
//
// When it looks for a replica, it takes any that the Sentinel reports as healthy, and another one if the last
// did not work.
class Sentinel final : public AddressSource, private SentinelSessionEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  // REQUIRES: transport and clock outlive it; at least one Sentinel.
  Sentinel(Transport& transport, const Clock& clock, SentinelOptions options, Random random);

  void find(AddressEvents& events, bool another) override;
  void tick(std::int64_t now_us) override;
  bool finds_masters() const override { return !options_.session.asks_for_replicas; }
  std::string describe() const override;
  std::string problem() const override { return problem_; }

  // In the order in which they are asked: the configured ones and the discovered ones.
  const std::vector<Address>& sentinels() const { return sentinels_; }

 private:
  void on_replicas(SentinelSession& session, std::vector<HostAndPort> replicas) override {
    if (&session == asking_) replicas_ = std::move(replicas);
  }
  void on_master(SentinelSession& session, const HostAndPort& master) override;
  void on_other_sentinels(SentinelSession& session, const std::vector<HostAndPort>& others) override;
  void on_switch(SentinelSession& session) override;
  void on_session_ended(SentinelSession& session, std::string_view why) override;

  std::optional<HostAndPort> choose_replica(bool anew);
  void move_to_front(const Address& sentinel);
  bool is_outvoted(const Address& sentinel) const;
  void begin_round();
  void begin_survey(std::int64_t now_us);
  void stop_survey();
  void end_vote(SentinelSession& session);
  void end_survey();
  void ask_next();
  void note_failure(const Address& sentinel, std::string_view why);
  void end_round_without_answer();
  std::int64_t listen_wait_us();

  Transport& transport_;
  const Clock& clock_;
  const SentinelOptions options_;
  const Random random_;
  AddressEvents* events_ = nullptr;
  std::vector<Address> sentinels_;
  Address found_;                      // the last one; its host is empty before the first
  std::vector<HostAndPort> replicas_;  // to choose from
  bool wants_another_ = false;         // the last one did not work

  SentinelSession sessions_[2];
  SentinelSession* asking_ = &sessions_[0];
  SentinelSession* listening_ = &sessions_[1];
  bool awaited_ = false;         // find() has no answer yet
  std::vector<Address> to_ask_;  // in this round, the next one last; without the one being asked
  bool in_round_ = false;
  HostAndPort master_;  // according to the Sentinel that we are subscribed to

  // Which master a Sentinel has named in this survey.
  struct Vote {
    HostAndPort master;
    std::vector<Address> voters;
  };
  std::vector<std::unique_ptr<SentinelSession>> surveyed_;  // those asked in the latest survey
  std::size_t votes_missing_ = 0;                           // 0: no survey is under way
  std::vector<Vote> votes_;
  std::vector<Address> outvoted_;  // in the last survey that most have decided
  std::int64_t survey_at_us_ = INT64_MAX;
  std::string problem_;
  std::size_t not_known_ = 0;  // Sentinels of this round that do not know this master
  std::string failures_;       // of the other Sentinels of this round
  std::int64_t listening_since_us_ = 0;
  std::int64_t listen_at_us_ = INT64_MAX;  // when to start a round of our own
};

}  // namespace sluice::redis
