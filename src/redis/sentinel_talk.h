#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/reply_stream.h"
#include "redis/sentinel_replies.h"

namespace sluice::redis {

struct SentinelTalkOptions {
  std::string master_name;
  bool asks_for_replicas = false;  // too
  std::int64_t answer_timeout_us = 300'000;
  std::int64_t check_every_us = 500'000;  // while listening
};

class SentinelTalk;

// Hears from a SentinelTalk. May close it and open it again, but must not destroy it.
class SentinelTalkEvents {
 public:
  // Those in good order. Comes before on_master().
  virtual void on_replicas(SentinelTalk& talk, std::vector<HostAndPort> replicas) = 0;
  virtual void on_master(SentinelTalk& talk, const HostAndPort& master) = 0;
  virtual void on_other_sentinels(SentinelTalk& talk, const std::vector<HostAndPort>& others) = 0;
  virtual void on_switch(SentinelTalk& talk) = 0;
  // It is closed already. `why` is empty when the Sentinel knows no such master.
  virtual void on_talk_ended(SentinelTalk& talk, std::string_view why) = 0;

 protected:
  ~SentinelTalkEvents() = default;
};

// A talk with one Sentinel: asks where the master is and who the other Sentinels are, then listens for news
// of another master, and makes sure that the Sentinel is still there. Can be opened again once it is closed.
// Not thread-safe.
class SentinelTalk final : private ReplyStream::Events {
 public:
  // REQUIRES: all outlive it.
  SentinelTalk(Transport& transport, const Clock& clock, const SentinelTalkOptions& options,
               SentinelTalkEvents& events)
      : clock_(clock), options_(options), events_(events), stream_(transport, clock, *this) {}

  // False when it cannot even begin; `why` says so. REQUIRES: closed
  bool open(const Address& sentinel, std::string& why);
  // Without an event.
  void close() { stream_.close(); }
  bool is_open() const { return stream_.is_open(); }
  const Address& sentinel() const { return sentinel_; }  // of the last open()

  void tick(std::int64_t now_us);

 private:
  void on_open() override;
  void on_reply(std::span<const RespValue> reply) override;
  void on_end(std::string_view why, bool) override { events_.on_talk_ended(*this, why); }
  void on_answer(char step, std::span<const RespValue> reply);
  void end(std::string_view why);

  const Clock& clock_;
  const SentinelTalkOptions& options_;
  SentinelTalkEvents& events_;
  ReplyStream stream_;
  Address sentinel_;
  std::string steps_;               // a letter per answer that is still to come; empty: it listens
  std::int64_t give_up_at_us_ = 0;  // when the next answer is not there by then; 0: none is due
};

}  // namespace sluice::redis
