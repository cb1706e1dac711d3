#pragma once

#include <memory>
#include <string_view>

#include "base/clock.h"
#include "redis/cluster/slot_address.h"
#include "redis/connection/connection.h"
#include "redis/connection/connection_options.h"
#include "redis/connection/transport.h"
#include "redis/url/store_url.h"

// Connections for users that keep all their keys in one slot, so that one server has all of them.
namespace sluice::redis {

// Makes `options` lead to that server: the only one, the master that Sentinels report, or the node of a
// Cluster, which the returned source follows; null without a Cluster. REQUIRES: transport and clock outlive
// the connection.
std::shared_ptr<SlotAddress> lead_to(const StoreTarget& target, Transport& transport, const Clock& clock,
                                     const Connection::Random& random, ConnectionOptions& options);

// Follows the error "MOVED …" that the server at `asked` has sent. False: it is another error, or there is no
// Cluster
// (`slot` is null).
bool follow_move(std::string_view error, const Address& asked, SlotAddress* slot);

}  // namespace sluice::redis
