#include "redis/cluster/one_slot.h"

#include <utility>

#include "redis/cluster/cluster_slots.h"
#include "redis/protocol/server_error.h"
#include "redis/sentinel/sentinel.h"

namespace sluice::redis {

std::shared_ptr<SlotAddress> lead_to(const StoreTarget& target, Transport& transport, const Clock& clock,
                                     const Connection::Random& random, ConnectionOptions& options) {
  switch (target.kind) {
    case StoreTarget::Kind::kSingle:
      options.address = target.addresses.front();
      return nullptr;
    case StoreTarget::Kind::kSentinel: {
      SentinelOptions sentinel;
      sentinel.sentinels = target.addresses;
      sentinel.master = target.login;
      sentinel.session.master_name = target.master_name;
      options.source = std::make_shared<Sentinel>(transport, clock, std::move(sentinel), random);
      return nullptr;
    }
    case StoreTarget::Kind::kCluster: {
      auto slot = std::make_shared<SlotAddress>(target.addresses);
      options.source = slot;
      return slot;
    }
  }
  std::unreachable();
}

bool follow_move(std::string_view error, const Address& asked, SlotAddress* slot) {
  if (!slot || explain_server_error(error).kind != ServerError::kMoved) return false;
  if (auto moved = read_redirect(error, {asked.host, asked.port}))
    slot->move_to(std::move(moved->to.host), moved->to.port);
  return true;
}

}  // namespace sluice::redis
