#include "net/deferred.h"

#include <cassert>

namespace sluice::net {

DeferredAnswers::Slot* DeferredAnswers::open(Waiter& waiter, std::int64_t deadline_us) {
  assert(!full());
  Slot* slot = nullptr;
  if (free_.empty()) {
    slot = &slots_.emplace_back();
    slot->table = this;
    free_.reserve(slots_.size());
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slot->waiter = &waiter;
  slot->deadline_us = deadline_us;
  ++open_count_;
  return slot;
}

void DeferredAnswers::close(Slot* slot) {
  assert(slot->waiter);
  slot->waiter = nullptr;
  ++slot->generation;
  free_.push_back(slot);
  --open_count_;
}

DeferredAnswers::Waiter* DeferredAnswers::take(Slot* slot, std::uint64_t generation) {
  if (slot->generation != generation) return nullptr;
  Waiter* waiter = slot->waiter;
  slot->table->close(slot);
  return waiter;
}

// The lambdas hold two words, which fit into std::function without an allocation.
Application::HttpLater DeferredAnswers::http_later(Slot* slot) {
  return [slot, generation = slot->generation](HttpResponse&& response) {
    if (Waiter* waiter = take(slot, generation)) waiter->finish_http(std::move(response));
  };
}

Application::GrpcLater DeferredAnswers::grpc_later(Slot* slot) {
  return [slot, generation = slot->generation](const GrpcStatus& status, std::string_view message) {
    if (Waiter* waiter = take(slot, generation)) waiter->finish_grpc(status, message);
  };
}

RedisHandler::Later DeferredAnswers::redis_later(Slot* slot) {
  return [slot, generation = slot->generation](std::string_view reply) {
    if (Waiter* waiter = take(slot, generation)) waiter->finish_redis(reply);
  };
}

void DeferredAnswers::expire_until(std::int64_t now_us) {
  if (open_count_ == 0) return;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (!slot.waiter || slot.deadline_us == 0 || slot.deadline_us > now_us) continue;
    Waiter* waiter = slot.waiter;
    close(&slot);
    waiter->expire();
  }
}

}  // namespace sluice::net
