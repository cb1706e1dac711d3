#include "redis/cluster/cluster_scout.h"

#include <algorithm>

#include "redis/connection/auth.h"

namespace sluice::redis {

void ClusterScout::visit(std::vector<Address> nodes) {
  to_visit_ = std::move(nodes);
  std::ranges::reverse(to_visit_);
  if (!stream_.is_open()) go_on();
}

void ClusterScout::tick(std::int64_t now_us) {
  if (stream_.is_open() && now_us >= give_up_at_us_) go_on();
}

void ClusterScout::go_on() {
  stream_.close();
  while (!to_visit_.empty() && !stream_.is_open()) {
    address_ = std::move(to_visit_.back());
    to_visit_.pop_back();
    give_up_at_us_ = clock_.now_us() + kPatienceUs;
    nodes_replied_ = false;
    std::string why;
    stream_.open(address_, why);
  }
}

void ClusterScout::on_open() {
  std::string commands;
  logging_in_ = append_auth(commands, address_);
  stream_.send(commands + cluster_command("NODES") + cluster_command("SLOTS"));
}

// Whatever is refused, the last reply says so.
void ClusterScout::on_reply(std::span<const RespValue> reply) {
  if (std::exchange(logging_in_, false)) return;
  if (!std::exchange(nodes_replied_, true)) {
    nodes_ = reply.front().type == RespValue::Type::kBytes ? reply.front().bytes : std::string_view();
    return;
  }
  const Endpoint asked =
      address_.unix_path.empty() ? Endpoint{address_.host, address_.port} : Endpoint{"127.0.0.1", 0};
  on_report_(asked, reply, nodes_);
  go_on();
}

}  // namespace sluice::redis
