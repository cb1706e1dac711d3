#include "net/resp/resp_session.h"

namespace sluice::net {

// A reply that has to wait: for the store, or for the replies before it.
class RespSession::Place final : public Waiter<std::string> {
 public:
  explicit Place(RespSession& session) : session_(session) { hold(sizeof(Place)); }
  ~Place() {
    if (deferred_) session_.context_.deferred.close(deferred_);
    session_.line_bytes_ -= bytes_;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  RedisReply::Later promise() { return session_.context_.deferred.defer(*this, deferred_); }
  bool is_there() const { return !deferred_; }

  const std::string& reply() const { return reply_; }
  void append(std::string_view more) {
    hold(more.size());
    reply_.append(more);
  }
  // Counts the memory of this place, or the memory held because of it.
  void hold(std::size_t bytes) {
    bytes_ += bytes;
    session_.line_bytes_ += bytes;
  }

 private:
  void finish(std::string&& late) override {
    deferred_ = nullptr;
    append(late);
    if (session_.line_.front().get() == this) session_.host_.output_ready();
  }

  RespSession& session_;
  std::string reply_;
  std::size_t bytes_ = 0;
  DeferredAnswers::Entry* deferred_ = nullptr;  // null: the reply is ready
};

// The reply to one command. If it comes later, it gets a place.
class RespSession::PlacedReply final : public RedisReply {
 public:
  PlacedReply(RespSession& session, std::string& out) : RedisReply(out), session_(session) {}
  Later later() override { return session_.line_.emplace_back(std::make_unique<Place>(session_))->promise(); }

 private:
  RespSession& session_;
};

RespSession::RespSession(SessionContext& context, SessionHost& host, const Peer& peer)
    : context_(context),
      host_(host),
      peer_(peer),
      opened_us_(context.now_us),
      heard_us_(context.now_us),
      handler_(context.application.open_redis(peer)),
      closing_(!handler_) {}

RespSession::~RespSession() = default;

void RespSession::receive(std::span<char> bytes, std::string& out) {
  if (closing_) return;
  heard_us_ = context_.now_us;
  if (!input_.empty()) {
    input_.append(bytes.data(), bytes.size());
    return process_input(out);
  }
  const std::size_t used = process({bytes.data(), bytes.size()}, out);
  if (used == bytes.size() || closing_) return;
  half_since_us_ = context_.now_us;
  input_.assign(bytes.data() + used, bytes.size() - used);
}

void RespSession::process_input(std::string& out) {
  if (input_.size() < needed_bytes_ || stopped(out)) return;
  const std::size_t used = process(input_, out);
  if (used == 0) return;
  half_since_us_ = context_.now_us;
  input_.erase(0, used);
}

std::size_t RespSession::process(std::string_view bytes, std::string& out) {
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

void RespSession::handle(std::string& out) {
  const std::size_t places = line_.size(), held = handler_->held_bytes();
  std::string behind;  // the replies that wait
  PlacedReply reply(*this, places == 0 ? out : behind);
  if (!handler_->handle(parser_.words(), reply)) closing_ = true;
  if (line_.size() == places) return say(out, behind);
  // What was held for EXEC is held until EXEC is answered.
  const std::size_t now_held = handler_->held_bytes();
  line_.back()->hold(parser_.used() + (held > now_held ? held - now_held : 0));
}

void RespSession::say(std::string& out, std::string_view reply) {
  if (line_.empty()) {
    out.append(reply);
    return;
  }
  if (!line_.back()->is_there()) line_.push_back(std::make_unique<Place>(*this));
  line_.back()->append(reply);
}

void RespSession::move_up(std::string& out) {
  while (!line_.empty() && line_.front()->is_there() && out.size() <= kUnreadOutputBytesMax) {
    out.append(line_.front()->reply());
    line_.pop_front();
  }
}

void RespSession::resume(std::string& out) {
  move_up(out);
  if (!input_.empty()) process_input(out);
  // The reply that is first now may have arrived while others were before it.
  if (!line_.empty() && line_.front()->is_there()) host_.output_ready();
}

void RespSession::shed(std::string& out) {
  const bool owes_nothing = finished();  // else it waits, possibly after its last command
  line_.clear();
  std::string().swap(input_);
  handler_.reset();
  closing_ = true;
  if (owes_nothing) return;
  say(out, "-ERR the server is out of memory for this connection; try again\r\n");
}

void RespSession::tick(std::string& out) {
  if (closing_) return;
  if (peer_.is_stranger && context_.now_us - opened_us_ >= context_.timeouts.redis_login_us) {
    say(out, "-NOAUTH login timed out: send AUTH with a token first\r\n");
    closing_ = true;
    return;
  }
  if (idle() && context_.now_us - heard_us_ >= context_.timeouts.redis_idle_us) closing_ = true;
  const bool half_a_command = !input_.empty() && !is_full();
  if (!half_a_command || context_.now_us - half_since_us_ < context_.timeouts.request_us) return;
  say(out, "-ERR timed out waiting for the rest of this command\r\n");
  closing_ = true;
}

void RespSession::drain(std::string& /*out*/) { closing_ = true; }

}  // namespace sluice::net
