#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <utility>

#include "net/socket/connection.h"

namespace sluice::net {
namespace {

// How many connections are compared to find one to close: enough to find a good candidate, few enough that a
// client which reconnects again and again does not keep us busy.
constexpr std::size_t kCompared = 256;

}  // namespace

ConnectionSet::ConnectionSet(EventLoop& loop, SessionContext& context, BufferBudget& budget)
    : loop_(loop), context_(context), account_(budget), input_(new char[kInputBytes]) {}

ConnectionSet::~ConnectionSet() = default;

void ConnectionSet::add(int fd, Peer peer, TlsServerContext* tls) {
  const int yes = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  // So that nothing can fail once the connection owns the socket.
  if (connections_.size() == connections_.capacity()) connections_.reserve(2 * connections_.size() + 16);
  const auto port = static_cast<std::size_t>(peer.port);
  peer.id = ++last_id_;
  connections_.push_back(std::make_unique<Connection>(*this, fd, std::move(peer), tls));
  connections_.back()->index_ = connections_.size() - 1;
  ++by_port_[port];
}

void ConnectionSet::remove(Connection& connection) {
  if (connection.is_ready_) std::ranges::replace(ready_, &connection, nullptr);
  if (connection.is_large_) std::erase(large_, &connection);
  --by_port_[static_cast<std::size_t>(connection.peer_.port)];
  const std::size_t index = connection.index_;
  std::swap(connections_[index], connections_.back());
  connections_[index]->index_ = index;
  connections_.pop_back();
}

void ConnectionSet::flush() {
  // Resuming may make the same connection ready again; that is for the next round.
  const std::size_t count = ready_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Connection* connection = ready_[i];
    if (!connection) continue;
    connection->is_ready_ = false;
    ready_[i] = nullptr;
    connection->carefully([connection] { return connection->resume(); });
  }
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ConnectionSet::read_large() {
  Connection* const connection = large_.front();
  large_.pop_front();
  connection->is_large_ = false;
  if (connection->interest_ & EPOLLIN) connection->carefully([connection] { return connection->read(); });
}

void ConnectionSet::tick() {
  // From the back: a connection that is removed is replaced by one that had its turn.
  for (std::size_t i = connections_.size(); i-- > 0;) {
    Connection& one = *connections_[i];
    one.carefully([&one] { return one.tick(); });
  }
}

void ConnectionSet::drain() {
  context_.draining = true;
  for (std::size_t i = connections_.size(); i-- > 0;) {
    Connection& one = *connections_[i];
    one.carefully([&one] { return one.drain(); });
  }
}

bool ConnectionSet::make_room(std::optional<Port> port) {
  Connection* least = nullptr;
  Connection::Worth least_worth = Connection::Worth::kOwedAnswer;
  for (std::size_t i = 0; i < connections_.size() && !(least && i >= kCompared); ++i) {
    next_compared_ = next_compared_ + 1 < connections_.size() ? next_compared_ + 1 : 0;
    Connection& one = *connections_[next_compared_];
    if (port && one.peer_.port != *port) continue;
    const Connection::Worth worth = one.worth();
    if (worth > least_worth || worth == Connection::Worth::kOwedAnswer) continue;
    if (least && worth == least_worth && one.since_us_ >= least->since_us_) continue;
    least = &one;
    least_worth = worth;
  }
  if (!least) return false;
  ++shed_for_room_;
  least->close();
  return true;
}

// Holders of at least half as much as the largest are shed with it, so that finding the largest does not cost
// more than what they sent.
template <class Enough>
void ConnectionSet::shed_largest(bool strangers_only, const Enough& enough) {
  while (!enough()) {
    std::size_t largest = 0;
    for (const auto& one : connections_)
      if (one->held_as_stranger_ || !strangers_only) largest = std::max(largest, one->held_bytes_);
    if (largest == 0) return;
    for (const std::size_t from : {largest, largest / 2 + 1}) {
      for (std::size_t i = connections_.size(); i-- > 0 && !enough();) {
        Connection& one = *connections_[i];
        if (one.held_bytes_ < from || (strangers_only && !one.held_as_stranger_)) continue;
        ++shed_for_memory_;
        one.carefully([&one] { return one.shed(); });
      }
    }
  }
}

template <class Enough>
void ConnectionSet::shed_tls(BufferBudget::Pool pool, const Enough& enough) {
  std::vector<Connection*> holders;
  for (const auto& one : connections_)
    if (one->held_by_tls_ > 0 && one->tls_pool_ == pool) holders.push_back(one.get());
  std::ranges::sort(holders, {},
                    [](const Connection* one) { return std::pair(one->worth(), one->since_us_); });
  for (Connection* const one : holders) {
    if (enough()) return;
    ++shed_for_memory_;
    one->close();
  }
}

void ConnectionSet::relieve() {
  using Pool = BufferBudget::Pool;
  for (const Pool pool : {Pool::kTls, Pool::kOpenTls})
    if (account_.must_shed(pool)) shed_tls(pool, [this, pool] { return account_.has_shed_enough(pool); });
  if (account_.must_shed(Pool::kStrangers))
    shed_largest(true, [this] { return account_.has_shed_enough(Pool::kStrangers); });
  if (account_.must_shed(Pool::kAll))
    shed_largest(false, [this] { return account_.has_shed_enough(Pool::kAll); });
}

void ConnectionSet::relieve_by_half() {
  const auto enough = [this, half = account_.bytes() / 2] { return account_.bytes() <= half; };
  shed_largest(false, enough);
  for (const auto pool : {BufferBudget::Pool::kTls, BufferBudget::Pool::kOpenTls}) shed_tls(pool, enough);
}

}  // namespace sluice::net
