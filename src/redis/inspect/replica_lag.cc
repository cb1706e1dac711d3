#include "redis/inspect/replica_lag.h"

#include "redis/inspect/server_facts.h"

namespace sluice::redis {

ReplicaLag::Ask ReplicaLag::next(std::int64_t now_us) {
  if (step_ == Step::kMasterKnown) {
    step_ = Step::kReplicaAsked;
    return Ask::kReplica;
  }
  if (step_ != Step::kRest || now_us - asked_at_us_ < kAskEveryUs) return Ask::kNobody;
  step_ = Step::kMasterAsked;
  asked_at_us_ = now_us;
  return Ask::kMaster;
}

void ReplicaLag::on_master(std::string_view info) {
  ServerFacts facts;
  read_info(info, facts);
  const bool is_master = !facts.is_replica && !facts.history.empty();
  step_ = is_master ? Step::kMasterKnown : Step::kRest;
  if (is_master) master_ = {facts.history, facts.offset};
}

// After a failover a replica may still follow the old master, whose offsets mean nothing here: its history
// differs.
void ReplicaLag::on_replica(std::string_view info) {
  ServerFacts facts;
  read_info(info, facts);
  step_ = Step::kRest;
  if (facts.is_replica && !facts.lost_its_master && facts.history == master_->history &&
      facts.heard_offset >= master_->offset)
    complete_until_us_ = asked_at_us_;
}

}  // namespace sluice::redis
