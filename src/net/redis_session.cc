#include "net/redis_session.h"

#include <cassert>

namespace sluice::net {

// A reply that has to wait: for the store, or for those in front of it.
class RedisSession::Place final : public DeferredAnswers::Waiter {
 public:
  explicit Place(RedisSession& session) : session_(session) {}
  ~Place() {
    if (slot_) session_.context_.deferred.close(slot_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  RedisHandler::Later promise() {
    slot_ = session_.context_.deferred.open(*this, 0);
    return DeferredAnswers::redis_later(slot_);
  }
  bool is_there() const { return !slot_; }

  std::string reply;

 private:
  void finish_redis(std::string_view late) override {
    slot_ = nullptr;
    reply = late;
    if (session_.line_.front().get() == this) session_.host_.output_ready();
  }
  void finish_http(HttpResponse&&) override { assert(false); }
  void finish_grpc(const GrpcStatus&, std::string_view) override { assert(false); }
  void expire() override { assert(false); }

  RedisSession& session_;
  DeferredAnswers::Slot* slot_ = nullptr;  // null: the reply is there
};

RedisSession::RedisSession(SessionContext& context, SessionHost& host, const Peer& peer)
    : context_(context),
      host_(host),
      handler_(context.application.open_redis(peer)),
      defer_([this] { return line_.emplace_back(std::make_unique<Place>(*this))->promise(); }),
      closing_(!handler_) {}

RedisSession::~RedisSession() = default;

void RedisSession::receive(std::span<char> bytes, std::string& out) {
  if (closing_) return;
  if (!input_.empty()) {
    input_.append(bytes.data(), bytes.size());
    return process_input(out);
  }
  const std::size_t used = process({bytes.data(), bytes.size()}, out);
  if (used == bytes.size() || closing_) return;
  half_since_us_ = context_.now_us;
  input_.assign(bytes.data() + used, bytes.size() - used);
}

void RedisSession::process_input(std::string& out) {
  if (input_.size() < needed_bytes_ || stopped(out)) return;
  const std::size_t used = process(input_, out);
  if (used == 0) return;
  half_since_us_ = context_.now_us;
  input_.erase(0, used);
}

std::size_t RedisSession::process(std::string_view bytes, std::string& out) {
  std::size_t used = 0;
  needed_bytes_ = 0;
  while (used < bytes.size() && !stopped(out)) {
    switch (parser_.parse(bytes.substr(used))) {
      case redis::CommandParser::Status::kNeedMore:
        needed_bytes_ = parser_.needed();
        return used;
      case redis::CommandParser::Status::kBroken:
        say(out, "-ERR " + std::string(parser_.problem()) + "\r\n");
        closing_ = true;
        return bytes.size();
      case redis::CommandParser::Status::kCommand:
        used += parser_.used();
        if (!parser_.words().empty()) handle(out);
    }
  }
  return used;
}

void RedisSession::handle(std::string& out) {
  if (line_.empty()) {
    if (!handler_->handle(parser_.words(), out, defer_)) closing_ = true;
    return;
  }
  std::string reply;
  const std::size_t before = line_.size();
  if (!handler_->handle(parser_.words(), reply, defer_)) closing_ = true;
  if (line_.size() == before) say(out, reply);
}

void RedisSession::say(std::string& out, std::string_view reply) {
  if (line_.empty()) {
    out.append(reply);
    return;
  }
  if (!line_.back()->is_there()) line_.push_back(std::make_unique<Place>(*this));
  line_.back()->reply.append(reply);
}

void RedisSession::move_up(std::string& out) {
  while (!line_.empty() && line_.front()->is_there() && out.size() <= kUnreadOutputBytesMax) {
    out.append(line_.front()->reply);
    line_.pop_front();
  }
}

void RedisSession::resume(std::string& out) {
  move_up(out);
  if (!input_.empty()) process_input(out);
  // Whatever is in front now may have come while others were in front of it.
  if (!line_.empty() && line_.front()->is_there()) host_.output_ready();
}

void RedisSession::tick(std::string& out) {
  const bool half_a_command = !input_.empty() && !is_full();
  if (!half_a_command || context_.now_us - half_since_us_ < context_.timeouts.request_us) return;
  say(out, "-ERR the rest of this command did not come in time\r\n");
  closing_ = true;
}

void RedisSession::drain(std::string& /*out*/) { closing_ = true; }

}  // namespace sluice::net
