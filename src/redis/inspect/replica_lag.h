#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::redis {

// Knows how old a replica's data may be. First the master is asked how far it has written, then the replica
// how far it has read. If the replica is as far, it has everything that the master had when it was asked.
// Does no I/O: its owner sends `INFO replication` and passes the replies on. Not thread-safe.
//
//   switch (lag.next(now_us)) {
//     case Ask::kMaster: …its answer → lag.on_master(text);
//     case Ask::kReplica: …its answer → lag.on_replica(text);
//   }
class ReplicaLag {
 public:
  enum class Ask : std::uint8_t { kNobody, kMaster, kReplica };

  // Which server to ask now; then neither until the answer is there.
  Ask next(std::int64_t now_us);

  // The reply to INFO replication. Empty: no answer, or an error.
  void on_master(std::string_view info);
  void on_replica(std::string_view info);

  // Whether the replica has everything that was written up to a second ago.
  bool fresh(std::int64_t now_us) const { return now_us - complete_until_us_ <= kAgeUsMax; }
  // The replica has failed: it has to prove itself again.
  void doubt() { complete_until_us_ = kNever; }

 private:
  static constexpr std::int64_t kNever = INT64_MIN / 2;
  static constexpr std::int64_t kAgeUsMax = 1'000'000, kAskEveryUs = 400'000;
  enum class Step : std::uint8_t { kRest, kMasterAsked, kMasterKnown, kReplicaAsked };
  struct Progress {
    std::string history;
    std::int64_t offset = 0;
  };

  Step step_ = Step::kRest;
  std::int64_t asked_at_us_ = kNever;  // when the master was asked
  std::optional<Progress> master_;     // at that time or later
  std::int64_t complete_until_us_ = kNever;
};

}  // namespace sluice::redis
