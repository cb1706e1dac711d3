#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http/http_api.h"

namespace sluice::doors {

// MULTI … EXEC: queues commands until EXEC, then executes them one after the other. Client libraries wrap
// pipelines in it. As in Redis, nothing is undone if one of them fails. Belongs to its connection,
// and so to its loop's thread.
class RedisTransaction {
 public:
  using Words = std::span<const std::string_view>;
  // Executes one command, as net::RedisHandler::handle().
  using Handle = std::function<void(Words words, net::RedisReply& reply)>;

  RedisTransaction();
  ~RedisTransaction();

  bool is_open() const { return is_open_; }
  void open();
  void discard();  // closes it
  // A command was refused when it was queued: EXEC will execute nothing.
  void spoil() { is_spoiled_ = true; }
  // Answers QUEUED, or an error if there are too many commands, which spoils the transaction.
  void add(Words words, std::string& out);
  // Closes the transaction and executes its commands, as many at once as a store has room for. Their replies
  // are one array, sent when all of them are ready. When the RedisTransaction is destroyed, commands that
  // were not started are not executed any more.
  void execute(Handle handle, net::RedisReply& reply);
  // Whether some of them were not started yet.
  bool is_executing() const;
  // The memory of the queued commands.
  std::size_t held_bytes() const { return bytes_ + words_ * sizeof(std::string); }

 private:
  class Execution;

  bool is_open_ = false;
  bool is_spoiled_ = false;
  std::size_t bytes_ = 0;
  std::size_t words_ = 0;
  std::vector<std::vector<std::string>> commands_;
  std::shared_ptr<Execution> execution_;  // the last one; null: none
};

}  // namespace sluice::doors
