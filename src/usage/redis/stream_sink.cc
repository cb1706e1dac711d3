#include "usage/redis/stream_sink.h"

#include <algorithm>
#include <random>
#include <utility>

#include "redis/cluster/one_slot.h"
#include "redis/connection/auth.h"
#include "redis/protocol/resp.h"
#include "redis/protocol/server_error.h"

namespace sluice::usage {
namespace {

using redis::RespValue;

constexpr std::int64_t kConnectUs = 2'000'000;
constexpr std::int64_t kAnswerUs = 5'000'000;
constexpr std::int64_t kBackoffMaxUs = 2'000'000;
constexpr std::int64_t kRefusedUs = 5'000'000;

redis::Connection::Random random_numbers() {
  return [random = std::make_shared<std::mt19937_64>(std::random_device()())](std::uint64_t below) {
    return (*random)() % below;
  };
}

// What the server says to a batch: MULTI, an answer for each event, EXEC.
std::size_t replies_to(const UsageBatch& batch) { return batch.size() + 2; }

// The first error in a reply; empty: there is none.
std::string_view error_in(std::span<const RespValue> reply) {
  const auto found = std::ranges::find(reply, true, &RespValue::is_error);
  return found == reply.end() ? std::string_view() : found->bytes;
}

}  // namespace

StreamSink::StreamSink(const StreamTarget& target, const Clock& clock, OnDone on_done)
    : clock_(clock),
      on_done_(std::move(on_done)),
      stream_(target.stream),
      length_(target.length > 0 ? std::to_string(target.length) : ""),
      random_(random_numbers()),
      connection_(transport_, clock_, options_for(target), random_, *this) {}

redis::ConnectionOptions StreamSink::options_for(const StreamTarget& target) {
  redis::ConnectionOptions options;
  options.client_name = "sluice-usage";
  options.connect_timeout_us = kConnectUs;
  options.backoff_max_us = kBackoffMaxUs;
  options.backoff_refused_us = kRefusedUs;
  slot_ = redis::lead_to(target.server, transport_, clock_, random_, options);
  return options;
}

void StreamSink::take(std::unique_ptr<UsageBatch> batch) {
  status_.in_hand += batch->size();
  batches_.push_back(std::move(batch));
  send_what_is_due();
}

void StreamSink::step(int timeout_ms) {
  const std::int64_t now_us = clock_.now_us();
  connection_.tick(now_us);
  if (sent_ > 0 && now_us - heard_at_us_ > kAnswerUs) connection_.drop("timed out");
  send_what_is_due();
  loop_.wait(timeout_ms);
  loop_.dispatch();
}

// A server that refuses events answers logins all the same.
void StreamSink::on_ready() {
  if (!is_refused_) status_.problem.clear();
  send_what_is_due();
}

void StreamSink::send_what_is_due() {
  while (sent_ < batches_.size() && connection_.may_send()) {
    const UsageBatch& batch = *batches_[sent_];
    if (sent_++ == 0) heard_at_us_ = clock_.now_us();
    append_commands(batch);
    connection_.send(commands_, replies_to(batch));
  }
}

void StreamSink::append_commands(const UsageBatch& batch) {
  commands_.clear();
  redis::append_command(commands_, {"MULTI"});
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (length_.empty())
      redis::append_command(commands_, {"XADD", stream_, "*", "event", batch.body(i)});
    else
      redis::append_command(commands_,
                            {"XADD", stream_, "MAXLEN", "~", length_, "*", "event", batch.body(i)});
  }
  redis::append_command(commands_, {"EXEC"});
}

void StreamSink::on_reply(std::span<const RespValue> reply) {
  heard_at_us_ = clock_.now_us();
  // The first error is the reason; EXEC only says that there was one.
  if (refusal_.empty()) refusal_ = error_in(reply);
  if (++replies_ < replies_to(*batches_.front())) return;
  if (!refusal_.empty()) return refuse(std::exchange(refusal_, {}));
  if (reply.front().type != RespValue::Type::kArray) return refuse("EXEC was not answered by a list");
  finish_oldest();
}

void StreamSink::finish_oldest() {
  std::unique_ptr<UsageBatch> batch = std::move(batches_.front());
  batches_.pop_front();
  --sent_;
  replies_ = 0;
  connection_.note_use();
  is_refused_ = false;
  status_.problem.clear();
  status_.sent += batch->size();
  status_.in_hand -= batch->size();
  on_done_(std::move(batch));
  send_what_is_due();
}

// on_lost() says that the batches have to be sent again.
void StreamSink::refuse(std::string_view error) {
  const redis::Address& asked = connection_.address();
  if (redis::follow_move(error, asked, slot_.get())) return connection_.drop("the stream is on another node");
  const redis::ServerErrorAdvice& advice = redis::explain_server_error(error);
  is_refused_ = true;
  std::string why = "refuses: ";
  if (advice.kind == redis::ServerError::kNotAllowed)
    why += "the Redis user may not use MULTI, XADD or this stream; see ACL SETUSER";
  else if (advice.kind == redis::ServerError::kOther)
    why += redis::without_secrets(error, asked);
  else
    why += std::string(advice.code) + ": " + std::string(advice.meaning);
  connection_.drop_refused(why);
}

void StreamSink::on_lost(std::string_view why) {
  sent_ = 0;
  replies_ = 0;
  refusal_.clear();
  status_.problem = why;
}

}  // namespace sluice::usage
