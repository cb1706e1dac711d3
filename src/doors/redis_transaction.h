#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_api.h"

namespace sluice::doors {

// MULTI … EXEC: commands that wait until all of them are there, and are then carried out one after the other.
// Client libraries wrap pipelines into it. As in Redis, nothing is undone if one of them fails. Belongs to
// its connection.
class RedisTransaction {
 public:
  using Words = std::span<const std::string_view>;
  // Carries out one command; as net::RedisHandler::handle().
  using Handle = std::function<void(Words words, std::string& out, const net::RedisHandler::Defer& defer)>;

  bool is_open() const { return is_open_; }
  void open();
  void discard();  // closes it
  // A command was refused at once: EXEC will carry out nothing.
  void spoil() { is_spoiled_ = true; }
  // Answers QUEUED; or an error if there are too many, which spoils it.
  void add(Words words, std::string& out);
  // Carries them out and closes it. Their replies are one array, which comes when all of them are there.
  void execute(const Handle& handle, std::string& out, const net::RedisHandler::Defer& defer);
  // The memory of the commands that wait.
  std::size_t held_bytes() const { return bytes_ + words_ * sizeof(std::string); }

 private:
  bool is_open_ = false;
  bool is_spoiled_ = false;
  std::size_t bytes_ = 0;
  std::size_t words_ = 0;
  std::vector<std::vector<std::string>> commands_;
};

}  // namespace sluice::doors
