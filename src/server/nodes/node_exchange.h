#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/cluster/slot_address.h"
#include "redis/connection/connection.h"
#include "server/nodes/node_desk.h"
#include "server/nodes/node_words.h"
#include "server/setup/store_setup.h"

namespace sluice::server {

// Where the nodes that share a Redis see each other, and ask each other questions: every node reports to a
// place of its own once a second, looks for questions, and reads the other places when somebody wants to know
// them. Lives on one loop's thread, with a connection of its own: checks never wait for it.
//
//   NodeExchange exchange(parts, keys, desk);
//   exchange.follow(settings_of_the_default_store);
//   exchange.tick(clock.now_us());  // every few milliseconds
//
// What it costs Redis, for each node and second: TIME, an MGET of 17 keys and a SET of at most 12 KiB; while
// somebody looks, an MGET of 128 places; while a question is open, an MGET of missing answers every 150 ms.
// Never more than 2,192 keys; see node_words.h.
//
// A question is seen at a node's next report, so answers come within about a second. After 2.5 s the
// asker goes on without those that are missing.
//
// Trust: messages are sealed with a key made from --key-secrets or --key-secret. Without either, whoever can
// write to this Redis can speak as a node, and whoever can read it sees the answers; they could also change
// or read the counters. Reports and questions name the server's time, and old ones count for nothing.
class NodeExchange final : private redis::ConnectionEvents {
 public:
  // All outlive it.
  struct Parts {
    redis::Transport& transport;
    const Clock& clock;
    const Clock& wall_clock;
    redis::Connection::Random random;
    const NodeKeys& keys;
    NodeDesk& desk;
  };
  explicit NodeExchange(Parts parts);

  // The nodes meet at this store from now on; in memory, nobody meets.
  void follow(const StoreSettings& store);
  void tick(std::int64_t now_us);

 private:
  using Reply = std::span<const redis::RespValue>;
  using OnReply = std::function<void(Reply reply)>;
  struct Peer {
    std::size_t place = 0;
    NodeReport report;
    std::int64_t at_ms = 0;  // by the server's clock
  };
  struct Asked {
    enum class Stage : std::uint8_t { kWaits, kPosting, kOpen };
    Stage stage = Stage::kWaits;
    NodeQuestion question;
    std::vector<NodeDesk::Then> then;
    doors::NodeAnswers answers;
    std::map<std::size_t, std::string> missing;  // the ids of the nodes that have not answered, by place
    std::size_t number = 0;                      // of the question, in Redis
    std::size_t numbers_tried = 0;
    std::int64_t give_up_us = 0, poll_at_us = 0;
    bool is_polling = false;
  };
  struct Looking {
    NodeDesk::Look then;
    std::int64_t give_up_us = 0;
  };

  void on_ready() override;
  void on_reply(Reply reply) override;
  void on_lost(std::string_view why) override;
  void connect();
  void say(std::span<const std::string_view> words, OnReply on_reply);
  void refuse(std::string_view error);

  std::int64_t server_ms() const;
  bool is_fresh(std::int64_t at_ms) const;
  bool can_meet() const { return connection_ && connection_->ready() && server_ahead_ms_.has_value(); }
  // Nobody else can be met now.
  bool is_hopeless() const { return !connection_ || (!connection_->ready() && !trouble_.empty()); }
  bool has_read_lately() const;
  void ask_time();
  void beat();
  void read_own_and_questions(Reply reply);
  void read_places();
  void take_places(Reply reply);
  void take_place(std::size_t place, std::string_view value);
  void choose_place();
  void answer(const NodeQuestion& question, std::size_t number);

  void take_up();
  void advance(Asked& asked);
  void post(Asked& asked);
  void poll(Asked& asked);
  void finish(Asked& asked);
  std::vector<doors::NodeSeen> seen() const;
  std::string problem() const;
  std::string fresh_id() const;

  const Parts parts_;
  const std::string id_;
  StoreSettings store_;
  std::shared_ptr<redis::SlotAddress> slot_;       // null: no Cluster
  std::unique_ptr<redis::Connection> connection_;  // null: in memory

  struct Waiting {
    std::int64_t since_us = 0;
    OnReply on_reply;
  };
  std::deque<Waiting> waiting_;  // for replies, in the order of the commands
  std::int64_t now_us_ = 0, beat_at_us_ = 0;
  std::optional<std::int64_t> server_ahead_ms_;  // of our clock
  std::optional<std::size_t> place_;
  std::set<std::size_t> taken_;        // places of others, as last read
  std::map<std::string, Peer> peers_;  // by id
  std::size_t strangers_ = 0;          // places that could not be read
  std::int64_t read_us_ = 0;           // when the places were read; 0: never
  bool is_reading_ = false, is_full_ = false;
  std::string trouble_;               // with the server, a sentence; empty: none
  std::deque<std::string> answered_;  // the ids of questions
  std::vector<Looking> looking_;
  std::vector<std::unique_ptr<Asked>> asked_;
};

}  // namespace sluice::server
