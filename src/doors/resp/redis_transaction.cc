#include "doors/resp/redis_transaction.h"

#include <memory>
#include <utility>

#include "base/limits.h"
#include "doors/resp/redis_reply.h"

namespace sluice::doors {
namespace {

namespace reply = redis_reply;

constexpr std::size_t kCommandsMax = 10'000;

// The replies of a transaction, some of which arrive later.
struct Replies {
  std::vector<std::string> all;
  std::size_t missing = 0;
  net::RedisReply::Later later;  // set once a reply has to be waited for

  std::string joined() const {
    std::string out;
    reply::array(out, all.size());
    for (const std::string& one : all) out += one;
    return out;
  }
};

// The reply to one command of the transaction.
class ReplyOfOne final : public net::RedisReply {
 public:
  ReplyOfOne(std::shared_ptr<Replies> replies, std::size_t i)
      : net::RedisReply(replies->all[i]), replies_(std::move(replies)), i_(i) {}

  Later later() override {
    ++replies_->missing;
    return [replies = replies_, i = i_](std::string&& late) {
      replies->all[i] = std::move(late);
      if (--replies->missing == 0 && replies->later) replies->later(replies->joined());
    };
  }

 private:
  const std::shared_ptr<Replies> replies_;
  const std::size_t i_;
};

}  // namespace

void RedisTransaction::open() {
  discard();
  is_open_ = true;
}

void RedisTransaction::discard() {
  is_open_ = is_spoiled_ = false;
  bytes_ = words_ = 0;
  std::exchange(commands_, {}).clear();
}

void RedisTransaction::add(Words words, std::string& out) {
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size();
  if (commands_.size() == kCommandsMax || bytes_ + bytes > kBodyBytesMax) {
    spoil();
    return reply::error(out, "ERR", "there are too many commands after MULTI; send fewer at a time");
  }
  commands_.emplace_back(words.begin(), words.end());
  bytes_ += bytes;
  words_ += words.size();
  reply::status(out, "QUEUED");
}

void RedisTransaction::execute(const Handle& handle, net::RedisReply& to) {
  const auto commands = std::exchange(commands_, {});
  const bool is_spoiled = is_spoiled_;
  discard();
  if (is_spoiled)
    return reply::error(to.response, "EXECABORT", "Transaction discarded because of previous errors.");
  const auto replies = std::make_shared<Replies>();
  replies->all.resize(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::vector<std::string_view> words(commands[i].begin(), commands[i].end());
    ReplyOfOne one(replies, i);
    handle(words, one);
  }
  if (replies->missing == 0)
    to.response += replies->joined();
  else
    replies->later = to.later();
}

}  // namespace sluice::doors
