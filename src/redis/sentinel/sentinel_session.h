#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/protocol/reply_stream.h"
#include "redis/sentinel/sentinel_replies.h"

namespace sluice::redis {

struct SentinelSessionOptions {
  std::string master_name;
  bool asks_for_replicas = false;  // too
  std::int64_t answer_timeout_us = 300'000;
  std::int64_t check_every_us = 500'000;  // while subscribed
};

class SentinelSession;

// Callbacks of a SentinelSession. They may close it and open it again, but must not destroy it.
class SentinelSessionEvents {
 public:
  // The healthy ones. Comes before on_master().
  virtual void on_replicas(SentinelSession& session, std::vector<HostAndPort> replicas) = 0;
  virtual void on_master(SentinelSession& session, const HostAndPort& master) = 0;
  virtual void on_other_sentinels(SentinelSession& session, const std::vector<HostAndPort>& others) = 0;
  virtual void on_switch(SentinelSession& session) = 0;
  // It is closed already. `why` is empty if the Sentinel does not know the master.
  virtual void on_session_ended(SentinelSession& session, std::string_view why) = 0;

 protected:
  ~SentinelSessionEvents() = default;
};

// A session with one Sentinel: asks where the master is and who the other Sentinels are, then subscribes to
// changes of the master, and checks that the Sentinel is alive. Can be opened again once it is closed. Not
// thread-safe.
class SentinelSession final : private ReplyStream::Events {
 public:
  // REQUIRES: all arguments outlive it.
  SentinelSession(Transport& transport, const Clock& clock, const SentinelSessionOptions& options,
                  SentinelSessionEvents& events)
      : clock_(clock), options_(options), events_(events), stream_(transport, clock, *this) {}

  // False if it cannot even begin; `why` says why. REQUIRES: closed
  bool open(const Address& sentinel, std::string& why);
  // Calls no event.
  void close() { stream_.close(); }
  bool is_open() const { return stream_.is_open(); }
  const Address& sentinel() const { return sentinel_; }  // of the last open()

  void tick(std::int64_t now_us);

 private:
  void on_open() override;
  void on_reply(std::span<const RespValue> reply) override;
  void on_end(std::string_view why, bool) override { events_.on_session_ended(*this, why); }
  void on_answer(char step, std::span<const RespValue> reply);
  void end(std::string_view why);

  const Clock& clock_;
  const SentinelSessionOptions& options_;
  SentinelSessionEvents& events_;
  ReplyStream stream_;
  Address sentinel_;
  std::string steps_;               // one letter per outstanding answer; empty: it is subscribed
  std::int64_t give_up_at_us_ = 0;  // when the next answer must be there; 0: none is outstanding
};

}  // namespace sluice::redis
