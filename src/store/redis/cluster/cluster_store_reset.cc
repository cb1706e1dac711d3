#include <memory>
#include <utility>

#include "base/limits.h"
#include "store/redis/cluster/cluster_store.h"
#include "store/redis/script/wire.h"

// ClusterStore::reset(): counters live on several nodes, and each may be moving. One command per key, all at
// the same time: a single key is never half moved.
namespace sluice {

// Forgets one set of counters. Lives as long as a reply is outstanding.
class ClusterStore::Reset : public std::enable_shared_from_this<Reset> {
 public:
  Reset(ClusterStore& store, std::size_t counters, std::function<void(int)> done)
      : store_(store), missing_(counters), done_(std::move(done)) {}

  void unlink(const CounterName& counter) {
    const Node* node = store_.nodes_.of_slot(slot_of_tag(counter.slot_tag));
    if (node == nullptr) return one_is_done(-1);
    std::string name, command;
    append_key(name, store_.options_.node.key_prefix, counter.slot_tag, counter.key);
    redis::append_array(command, 2);
    redis::append_bulk(command, "UNLINK");
    redis::append_bulk(command, name);
    send(*node, command, false, 0);
  }

 private:
  void send(const Node& node, const std::string& command, bool asking, std::uint32_t hops) {
    const auto on_reply = [self = shared_from_this(), from = node.here(), command,
                           hops](std::span<const redis::RespValue> reply) {
      self->on_reply(from, command, hops, reply);
    };
    if (!node.server->ask(command, on_reply, asking)) one_is_done(-1);
  }

  void on_reply(const redis::Endpoint& from, const std::string& command, std::uint32_t hops,
                std::span<const redis::RespValue> reply) {
    if (reply.empty()) return one_is_done(-1);
    const redis::RespValue& value = reply.front();
    if (value.type == redis::RespValue::Type::kInteger) return one_is_done(static_cast<int>(value.integer));
    const auto redirect = value.is_error() ? redis::read_redirect(value.bytes, from) : std::nullopt;
    const Node* to =
        redirect && hops < kRedisHopsMax ? store_.nodes_.at(redirect->to, store_.clock_.now_us()) : nullptr;
    if (to == nullptr) return one_is_done(-1);
    send(*to, command, value.bytes.starts_with("ASK"), hops + 1);
  }

  void one_is_done(int existed) {
    failed_ |= existed < 0;
    sum_ += existed;
    if (--missing_ == 0) done_(failed_ ? -1 : sum_);
  }

  ClusterStore& store_;
  std::size_t missing_;
  const std::function<void(int)> done_;
  int sum_ = 0;
  bool failed_ = false;
};

void ClusterStore::reset(std::span<const CounterName> counters, std::function<void(int)> done) {
  if (counters.empty()) return done(0);
  auto note_and_tell = [this, done = std::move(done),
                        names = std::vector(counters.begin(), counters.end())](int existed) {
    for (const CounterName& counter : names) options_.node.freed->note(counter.key, clock_.now_us());
    done(existed);
  };
  const auto reset = std::make_shared<Reset>(*this, counters.size(), std::move(note_and_tell));
  for (const CounterName& counter : counters) reset->unlink(counter);
}

}  // namespace sluice
