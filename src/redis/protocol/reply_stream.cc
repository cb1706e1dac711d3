#include "redis/protocol/reply_stream.h"

#include <cassert>

namespace sluice::redis {

bool ReplyStream::open(const Address& address, std::string& why) {
  assert(!channel_);
  channel_ = transport_.connect(address, *this, why);
  return channel_ != nullptr;
}

void ReplyStream::close() {
  ++generation_;
  channel_.reset();
  parser_.clear();
}

void ReplyStream::on_bytes(std::string_view bytes) {
  heard_at_us_ = clock_.now_us();
  parser_.feed(bytes);
  const std::uint64_t generation = generation_;
  while (generation == generation_) {
    const RespParser::Status status = parser_.next();
    if (status == RespParser::Status::kNeedMore) return;
    if (status == RespParser::Status::kBroken) return end(parser_.problem(), false);
    events_.on_reply(parser_.reply());
  }
}

void ReplyStream::end(std::string_view why, bool refused) {
  const std::string reason(why);  // `why` may be in the buffer that close() frees
  close();
  events_.on_end(reason, refused);
}

}  // namespace sluice::redis
