#include "library/remote/server_link.h"

#include <algorithm>
#include <utility>

#include "net/grpc/grpc_text.h"

namespace sluice::remote {

ServerLink::ServerLink(redis::Transport& transport, const Clock& clock, Options options, Random random,
                       OnChange on_change)
    : transport_(transport),
      clock_(clock),
      options_(std::move(options)),
      random_(std::move(random)),
      on_change_(std::move(on_change)),
      trying_since_us_(clock.now_us()) {}

ServerLink::~ServerLink() = default;

void ServerLink::call(std::string_view path, std::string_view message, Done done) {
  if (is_down()) {
    failed_.push_back({std::move(done), down_because_});
    return;
  }
  Call& call = calls_[++last_call_];
  call = {.path = path,
          .framed = std::string(net::kGrpcPrefixBytes, '\0'),
          .done = std::move(done),
          .started_us = clock_.now_us()};
  net::write_grpc_prefix(call.framed.data(), {false, static_cast<std::uint32_t>(message.size())});
  call.framed.append(message);
  unsent_.push_back(last_call_);
}

void ServerLink::tick() {
  const std::int64_t now_us = clock_.now_us();
  if (!channel_ && now_us >= connect_at_us_) connect(now_us);
  if (channel_ && !client_->is_greeted() && now_us - attempt_us_ >= options_.timeout_us)
    lose("it does not answer", true);
  // All that were sent have been answered, or were given up.
  if (channel_ && client_->is_closing() && calls_.size() == unsent_.size())
    lose("it closes the connection", false);
  expire(now_us);
}

std::int64_t ServerLink::next_due_us() const {
  if (!failed_.empty()) return 0;
  std::int64_t due_us = INT64_MAX;
  if (!channel_) due_us = connect_at_us_;
  if (channel_ && !client_->is_greeted()) due_us = attempt_us_ + options_.timeout_us;
  if (!calls_.empty()) due_us = std::min(due_us, calls_.begin()->second.started_us + options_.timeout_us);
  return due_us;
}

void ServerLink::connect(std::int64_t now_us) {
  std::string why;
  attempt_us_ = now_us;
  client_ = std::make_unique<net::GrpcClient>(options_.target);
  channel_ = transport_.connect(options_.address, *this, why);
  if (channel_) return;
  client_ = nullptr;
  // A name is looked up in the background, so the first attempts may only have begun to do so.
  if (!is_down() && now_us - trying_since_us_ < options_.timeout_us)
    connect_at_us_ = now_us + kResolveUs;
  else
    lose(why, true);
}

void ServerLink::on_connected() { is_connected_ = true; }

void ServerLink::on_bytes(std::string_view bytes) {
  last_bytes_us_ = clock_.now_us();
  if (const auto read = client_->read(bytes); !read) return lose(read.error(), true);
  if (!client_->is_greeted() || state_ == State::kUp) return;
  retry_us_ = 0;
  if (std::exchange(state_, State::kUp) == State::kDown)
    on_change_(false, options_.target.authority + ": it answers again");
}

// A connection that was in use may have ended for good reasons: a new one is made before the link is down.
void ServerLink::on_closed(std::string_view why) { lose(why, state_ != State::kUp); }

void ServerLink::lose(std::string_view why, bool is_down) {
  take_finished();
  const std::string sentence = options_.target.authority + ": " + std::string(why);
  const auto fail = [&](auto call) {
    failed_.push_back({std::move(call->second.done), sentence});
    return calls_.erase(call);
  };
  for (auto call = calls_.begin(); call != calls_.end();)
    call = is_down || call->second.framed.empty() ? fail(call) : std::next(call);
  if (is_down) unsent_.clear();
  channel_ = nullptr;
  client_ = nullptr;
  is_connected_ = false;
  const std::int64_t now_us = clock_.now_us();
  trying_since_us_ = now_us;
  const bool is_hasty = is_down || now_us - attempt_us_ < kRetryMostUs;  // it did not live long
  retry_us_ = is_hasty ? std::clamp(2 * retry_us_, kRetryLeastUs, kRetryMostUs) : 0;
  connect_at_us_ = now_us + static_cast<std::int64_t>(static_cast<double>(retry_us_) * (0.5 + random_() / 2));
  const bool was_down = std::exchange(state_, is_down ? State::kDown : State::kConnecting) == State::kDown;
  if (!is_down) return;
  down_because_ = sentence;
  if (!was_down) on_change_(true, sentence);
}

void ServerLink::take_finished() {
  if (!client_) return;
  client_->take_finished([this](std::uint64_t number, const net::GrpcResult& result) {
    const auto call = calls_.find(number);
    if (call == calls_.end()) return;  // nobody waits for it any more
    const Done done = std::move(call->second.done);
    calls_.erase(call);
    done(&result, {});
  });
}

void ServerLink::expire(std::int64_t now_us) {
  bool is_silent = false, is_polled = false;
  while (!calls_.empty() && calls_.begin()->second.started_us + options_.timeout_us <= now_us) {
    // The loop may have been busy elsewhere while the answer came.
    if (!is_polled && channel_ && is_connected_) {
      is_polled = true;
      channel_->poll();
      take_finished();
      continue;
    }
    const auto call = calls_.begin();
    is_silent |= channel_ && call->second.framed.empty() && last_bytes_us_ < call->second.started_us;
    if (call->second.framed.empty() && client_)
      client_->cancel(call->second.stream);
    else
      std::erase(unsent_, call->first);
    failed_.push_back({std::move(call->second.done), options_.target.authority + ": no answer in time"});
    calls_.erase(call);
  }
  if (is_silent) lose("it does not answer", true);
}

void ServerLink::flush() {
  // Whoever is told may start further calls.
  for (int round = 0; round < kRoundsMax; ++round) {
    if (is_connected_) {
      std::size_t started = 0;
      for (; started < unsent_.size(); ++started) {
        Call& call = calls_[unsent_[started]];
        if (!client_->start(unsent_[started], call.path, call.framed)) break;
        call.framed = {};
        call.stream = client_->last_stream();
      }
      unsent_.erase(unsent_.begin(), unsent_.begin() + static_cast<std::ptrdiff_t>(started));
      out_.clear();
      client_->write(out_);
      if (!out_.empty()) channel_->send(out_);
    }
    take_finished();
    const std::vector<Failed> failed = std::exchange(failed_, {});
    for (const Failed& each : failed) each.done(nullptr, each.why);
    if (failed_.empty() && (unsent_.empty() || !is_connected_ || client_->is_closing())) return;
  }
}

}  // namespace sluice::remote
