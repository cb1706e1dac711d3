#include "store/redis/replica/replica_looks.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace sluice {
namespace {

constexpr std::int64_t kInterestUs = 5'000'000;    // the replica is watched for this long after a look
constexpr std::int64_t kUselessUsMax = 5'000'000;  // then we look for another
constexpr std::int64_t kBackoffUsMax = 5'000'000;  // there is no hurry: the master answers
constexpr std::int64_t kNeverUs = INT64_MIN / 2;

std::string info_command() {
  std::string command;
  redis::append_command(command, {"INFO", "replication"});
  return command;
}

// Empty: the reply is not a text.
std::string_view text_of(std::span<const redis::RespValue> reply) {
  return reply.empty() || reply.front().is_error() ? std::string_view() : reply.front().bytes;
}

RedisBackendOptions options_for_replica(RedisBackendOptions options) {
  options.only_looks = true;
  options.connection.backoff_max_us = kBackoffUsMax;
  options.on_news = {};
  options.advise_every_us = 0;
  return options;
}

}  // namespace

// A look in flight: shares charges and results with the call that it stands for.
class ReplicaLooks::Look final : public StoreCall {
 public:
  explicit Look(ReplicaLooks& owner) : owner_(owner) {}

  void stand_for(StoreCall& call, std::int64_t until_us) {
    call_ = &call;
    charges = call.charges;
    results = call.results;
    deadline_us = until_us;
    flow = call.flow;
  }
  void on_done() override { owner_.finish(*this); }

  StoreCall& call() const { return *call_; }
  void answer() const { static_cast<StoreAnswer&>(*call_) = static_cast<const StoreAnswer&>(*this); }

 private:
  ReplicaLooks& owner_;
  StoreCall* call_ = nullptr;
};

ReplicaLooks::ReplicaLooks(redis::Transport& transport, const Clock& clock, ParamsTable& params,
                           RedisBackendOptions options, const RedisBackend::Random& random,
                           AskMaster ask_master)
    : clock_(clock),
      ask_master_(std::move(ask_master)),
      patience_us_(options.operation_timeout_us),
      is_in_cluster_(options.connection.reads_replica),
      denials_(params, options.freed, options.remember_denials_us),
      replica_({transport, clock, params, *this, denials_}, options_for_replica(std::move(options)), random),
      wanted_at_us_(kNeverUs) {}

ReplicaLooks::~ReplicaLooks() = default;

bool ReplicaLooks::is_look(const StoreCall& call) {
  return !call.dedupe && call.refund_of_us == 0 &&
         std::ranges::all_of(call.charges, [](const Charge& charge) { return charge.cost == 0; });
}

bool ReplicaLooks::take(StoreCall& call) {
  const std::int64_t now_us = clock_.now_us();
  wanted_at_us_ = now_us;
  if (!replica_.ready() || failing() || !lag_->fresh(now_us)) return false;
  const std::int64_t time_us = call.deadline_us == 0 ? patience_us_ : (call.deadline_us - now_us) / 2;
  if (time_us <= 0) return false;
  Look* const look = spare_look();
  if (look == nullptr) return false;
  look->stand_for(call, now_us + time_us);
  if (!replica_.start(*look)) return true;
  spares_.push_back(look);
  return false;
}

ReplicaLooks::Look* ReplicaLooks::spare_look() {
  if (spares_.empty()) {
    if (looks_.size() >= kReplicaLooksMax) return nullptr;
    return looks_.emplace_back(std::make_unique<Look>(*this)).get();
  }
  Look* const look = spares_.back();
  spares_.pop_back();
  return look;
}

void ReplicaLooks::finish(Look& look) {
  StoreCall& call = look.call();
  spares_.push_back(&look);
  if (!is_answer(look.verdict)) {
    ++stats_.passed_on;
    return ask_master_(call);
  }
  ++stats_.answered;
  look.answer();
  call.on_done();
}

// The slot is elsewhere, or the replica follows another master, or has lost its own.
void ReplicaLooks::on_sent_away(RedisBackend&, redis::ServerError, std::string_view,
                                std::span<StoreCall* const> calls) {
  lag_->doubt();
  for (StoreCall* call : calls) call->on_done();
}

void ReplicaLooks::tick(std::int64_t now_us, const std::function<RedisBackend*()>& master) {
  using Ask = redis::ReplicaLag::Ask;
  replica_.tick(now_us);
  const bool wanted = now_us - wanted_at_us_ <= kInterestUs;
  if (!wanted || lag_->fresh(now_us)) useful_at_us_ = now_us;
  if (!wanted) return;
  const Ask whom = lag_->next(now_us);
  if (whom == Ask::kMaster) {
    RedisBackend* const server = master();
    const auto hear = [lag = lag_](std::span<const redis::RespValue> reply) {
      lag->on_master(text_of(reply));
    };
    if (server == nullptr || !server->ask(info_command(), hear)) hear({});
  } else if (whom == Ask::kReplica) {
    const auto hear = [lag = lag_](std::span<const redis::RespValue> reply) {
      lag->on_replica(text_of(reply));
    };
    if (!replica_.ask(info_command(), hear)) hear({});
  }
  if (replica_.ready() && now_us - useful_at_us_ > kUselessUsMax) {
    useful_at_us_ = now_us;
    replica_.reconnect("the replica lags behind its master, or has been promoted");
  }
}

}  // namespace sluice
