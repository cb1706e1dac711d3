#pragma once

#include <cstddef>
#include <functional>
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

  bool is_open() const { return is_open_; }
  void open();
  void discard();  // closes it
  // A command was refused when it was queued: EXEC will execute nothing.
  void spoil() { is_spoiled_ = true; }
  // Answers QUEUED, or an error if there are too many commands, which spoils the transaction.
  void add(Words words, std::string& out);
  // Executes the commands and closes the transaction. Their replies are one array, sent when all of them are
  // ready.
  void execute(const Handle& handle, net::RedisReply& reply);
  // The memory of the queued commands.
  std::size_t held_bytes() const { return bytes_ + words_ * sizeof(std::string); }

 private:
  bool is_open_ = false;
  bool is_spoiled_ = false;
  std::size_t bytes_ = 0;
  std::size_t words_ = 0;
  std::vector<std::vector<std::string>> commands_;
};

}  // namespace sluice::doors
