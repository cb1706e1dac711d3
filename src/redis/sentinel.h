#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "redis/address_source.h"
#include "redis/sentinel_talk.h"
#include "redis/transport.h"

namespace sluice::redis {

struct SentinelOptions {
  std::vector<Address> sentinels;  // with who we are there: they have users and passwords of their own
  Address master;                  // who we are at the master; its host and port are what we look for
  SentinelTalkOptions
      talk;  // the master's name; with asks_for_replicas we look for one of its replicas instead
  std::int64_t listen_again_us = 1'000'000;   // when nobody can be listened to: half of this to all of it
  std::int64_t survey_every_us = 10'000'000;  // the first one comes listen_again_us after an answer; 0: never
};

// Finds the master that a group of Sentinels watches, and hears when it is another one. Belongs to one
// Connection and its thread.
//
//   options.source = std::make_shared<Sentinel>(
//       transport, clock, SentinelOptions{.sentinels = target.addresses, .master = target.login,
//                                         .talk = {.master_name = target.master_name}}, random);
//   Connection connection(transport, clock, options, random, events);
//
// Asks one Sentinel after the other, the one that answered last first; a silent one costs a moment. When its
// answer is of no use (a Sentinel cut off from the others still believes in the old master) the next question
// goes to another one. Sentinels that they tell us about are asked too.
//
// The Sentinel that answered is listened to from then on: it says when there is another master. That makes us
// move at once, even while the old one, back from a long pause, still believes to be the master; but nothing
// depends on it. When it can be listened to no more, we ask where the master is, and listen to whoever
// answers.
//
// One Sentinel may be wrong for good: left over from another group, or cut off without knowing it. So all of
// them are asked now and then. If most of those who answer name another master, that one it is; problem()
// says who disagrees. All nodes that ask the same Sentinels come to the same master.
//
// Looking for a replica, it takes any that the Sentinel finds in good order, another one when the last was of
// no use.
class Sentinel final : public AddressSource, private SentinelTalkEvents {
 public:
  using Random = std::function<std::uint64_t(std::uint64_t below)>;

  // REQUIRES: transport and clock outlive it; at least one Sentinel.
  Sentinel(Transport& transport, const Clock& clock, SentinelOptions options, Random random);

  void find(AddressEvents& events, bool another) override;
  void tick(std::int64_t now_us) override;
  bool finds_masters() const override { return !options_.talk.asks_for_replicas; }
  std::string describe() const override;
  std::string problem() const override { return problem_; }

  // In the order in which they are asked: those we were given, and those we heard of.
  const std::vector<Address>& sentinels() const { return sentinels_; }

 private:
  void on_replicas(SentinelTalk&, std::vector<HostAndPort> replicas) override {
    if (!in_survey_) replicas_ = std::move(replicas);
  }
  void on_master(SentinelTalk& talk, const HostAndPort& master) override;
  void on_other_sentinels(SentinelTalk& talk, const std::vector<HostAndPort>& others) override;
  void on_switch(SentinelTalk& talk) override;
  void on_talk_ended(SentinelTalk& talk, std::string_view why) override;

  std::optional<HostAndPort> choose_replica(bool anew);
  void move_to_front(const Address& sentinel);
  void begin_round();
  void begin_survey(std::int64_t now_us);
  void end_survey();
  void ask_next();
  void note_failure(const Address& sentinel, std::string_view why);
  void end_round_without_answer();
  std::int64_t listen_wait_us();

  const Clock& clock_;
  const SentinelOptions options_;
  const Random random_;
  AddressEvents* events_ = nullptr;
  std::vector<Address> sentinels_;
  Address found_;                      // the last one; its host is empty before
  std::vector<HostAndPort> replicas_;  // to choose from
  bool wants_another_ = false;         // the last one was of no use

  SentinelTalk talks_[2];
  SentinelTalk* asking_ = &talks_[0];
  SentinelTalk* listening_ = &talks_[1];
  bool awaited_ = false;         // find() has no answer yet
  std::vector<Address> to_ask_;  // in this round, the next one last; the one being asked is not in it
  bool in_round_ = false;
  HostAndPort master_;  // as the Sentinel that we listen to has it

  // Who has named which master in this survey.
  struct Vote {
    HostAndPort master;
    std::vector<Address> voters;
  };
  bool in_survey_ = false;
  std::vector<Vote> votes_;
  std::int64_t survey_at_us_ = INT64_MAX;
  std::string problem_;
  std::size_t not_known_ = 0;  // Sentinels of this round that know no such master
  std::string failures_;       // of this round's others
  std::int64_t listening_since_us_ = 0;
  std::int64_t listen_at_us_ = INT64_MAX;  // a round of our own
};

}  // namespace sluice::redis
