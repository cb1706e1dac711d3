#include <memory>
#include <utility>

#include "redis/protocol/server_error.h"
#include "store/redis/cluster/cluster_store.h"

// How ClusterStore learns which node has which slots.
namespace sluice {
namespace {

constexpr std::uint32_t kRefreshesInVain = 3;  // after these, seeds and replicas are asked, too

}  // namespace

void ClusterStore::refresh(std::int64_t now_us) {
  Node* node = nodes_.next_ready();
  if (node == nullptr || refresh_timer_.failures() >= kRefreshesInVain) nodes_.call_in_others(now_us);
  if (node == nullptr) return;
  ++stats_.refreshes;
  refresh_timer_.begin(now_us);
  if (!ask_for_map(*node)) refresh_timer_.end(now_us, false);
  if (refresh_timer_.failures() == 0) scout_.visit(nodes_.next_others());
}

// The epochs first: if something changes in between, they are too old rather than too new, and the next map
// corrects that. False: the node cannot be asked now.
bool ClusterStore::ask_for_map(Node& node) {
  const auto nodes = std::make_shared<std::string>();
  const auto hear_nodes = [this, nodes, &server = *node.server](std::span<const redis::RespValue> reply) {
    if (reply.empty()) return;
    if (!reply.front().is_error()) {
      *nodes = reply.front().bytes;
      epochs_refused_.clear();
    } else if (redis::explain_server_error(reply.front().bytes).kind == redis::ServerError::kNotAllowed) {
      server.dismiss_problem();  // it can still check
      epochs_refused_ =
          "Redis Cluster: the user may not call CLUSTER NODES, so a master that was replaced but does not "
          "know it may still be asked; grant +cluster|nodes";
    }
  };
  const auto hear_slots = [this, nodes, asked = node.here()](std::span<const redis::RespValue> reply) {
    on_map(asked, reply, redis::ConfigEpochs(*nodes));
  };
  return node.server->ask(redis::cluster_command("NODES"), hear_nodes) &&
         node.server->ask(redis::cluster_command("SLOTS"), hear_slots);
}

// The only node has all slots, and the map is no longer fetched.
void ClusterStore::be_alone() {
  alone_ = true;
  redis::SlotMap map;
  nodes_.for_each([&](const Node& node) {
    map.masters = {node.endpoint};
    node.server->dismiss_problem();  // it does not know cluster commands
  });
  map.owner.assign(redis::kSlots, 0);
  nodes_.adopt(map, redis::ConfigEpochs({}), clock_.now_us());
}

// The server has slots after all: the address belongs to another server now, or it has joined a cluster.
void ClusterStore::be_one_of_many() {
  alone_ = false;
  refresh_timer_.end(clock_.now_us(), false);  // for the request that was answered this way
  refresh_timer_.hurry(clock_.now_us());
}

void ClusterStore::on_map(const redis::Endpoint& asked, std::span<const redis::RespValue> reply,
                          const redis::ConfigEpochs& epochs) {
  const bool has_no_cluster =
      reply.size() == 1 && reply[0].is_error() && reply[0].bytes.contains("cluster support disabled");
  if (has_no_cluster && options_.seeds.size() == 1 && stats_.maps == 0) be_alone();
  if (alone_) return;
  const auto map = redis::read_slot_map(reply, asked);
  const bool is_first = stats_.maps == 0, is_adopted = map && adopt(*map, epochs);
  refresh_timer_.end(clock_.now_us(), is_adopted && nodes_.all_well());
  if (is_adopted && is_first) scout_.visit(nodes_.next_others());  // the first node may be the outdated one
}

// Without epochs, nobody can tell who knows more: a replica, or the master that we ask.
void ClusterStore::on_scouted(const redis::Endpoint& asked, std::span<const redis::RespValue> reply,
                              const redis::ConfigEpochs& epochs) {
  if (alone_ || !nodes_.are_known_to(epochs)) return;
  if (const auto map = redis::read_slot_map(reply, asked)) adopt(*map, epochs);
}

bool ClusterStore::adopt(const redis::SlotMap& map, const redis::ConfigEpochs& epochs) {
  const ClusterNodes::Adopted adopted = nodes_.adopt(map, epochs, clock_.now_us());
  if (adopted == ClusterNodes::Adopted::kNot) return false;
  ++stats_.maps;
  moving_.reset();
  if (replicas_ && adopted == ClusterNodes::Adopted::kWhole) replicas_->adopt(map);
  rescue([](const Node& node) { return node.slots == 0 || !node.server->ready(); });
  return true;
}

// Calls that wait for such nodes may have better nodes now.
void ClusterStore::rescue(const std::function<bool(const Node&)>& from) {
  std::vector<StoreCall*> stranded;
  nodes_.for_each([&](Node& node) {
    if (!from(node)) return;
    const std::vector<StoreCall*> calls = node.server->take_queue();
    stranded.insert(stranded.end(), calls.begin(), calls.end());
  });
  start_by_map(std::move(stranded));
}

}  // namespace sluice
