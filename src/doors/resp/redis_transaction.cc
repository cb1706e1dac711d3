#include "doors/resp/redis_transaction.h"

#include <memory>
#include <utility>

#include "base/limits.h"
#include "doors/resp/redis_reply.h"

namespace sluice::doors {
namespace {

namespace reply = redis_reply;

constexpr std::size_t kCommandsMax = 10'000;

// How many commands wait for a store at once. A store's queue takes so many from one connection, unless it is
// busy with others (kRedisQueueMax).
constexpr std::size_t kAtOnceMax = 1'000;

}  // namespace

// The commands of one EXEC, and their replies, some of which arrive later, perhaps after the connection's
// end. Belongs to one thread.
class RedisTransaction::Execution final : public std::enable_shared_from_this<Execution> {
 public:
  Execution(std::vector<std::vector<std::string>> commands, Handle handle)
      : commands_(std::move(commands)), replies_(commands_.size()), handle_(std::move(handle)) {}

  void begin(net::RedisReply& to) {
    go_on();
    if (is_complete())
      to.response += joined();
    else
      later_ = to.later();
  }
  bool has_unstarted() const { return handle_ && started_ < commands_.size(); }
  void abandon() { handle_ = nullptr; }

 private:
  // The reply to one command.
  class ReplyOfOne final : public net::RedisReply {
   public:
    ReplyOfOne(std::shared_ptr<Execution> execution, std::size_t i)
        : net::RedisReply(execution->replies_[i]), execution_(std::move(execution)), i_(i) {}

    Later later() override {
      ++execution_->missing_;
      return [execution = execution_, i = i_](std::string&& late) {
        execution->replies_[i] = std::move(late);
        --execution->missing_;
        execution->go_on();
        if (execution->later_ && execution->is_complete()) execution->later_(execution->joined());
      };
    }

   private:
    const std::shared_ptr<Execution> execution_;
    const std::size_t i_;
  };

  void go_on() {
    if (std::exchange(is_going_on_, true)) return;  // a reply that came before handle_() returned
    while (has_unstarted() && missing_ < kAtOnceMax) {
      const std::size_t i = started_++;
      const std::vector<std::string_view> words(commands_[i].begin(), commands_[i].end());
      ReplyOfOne one(shared_from_this(), i);
      handle_(words, one);
    }
    is_going_on_ = false;
  }
  bool is_complete() const { return missing_ == 0 && started_ == commands_.size(); }
  std::string joined() const {
    std::string out;
    reply::array(out, replies_.size());
    for (const std::string& one : replies_) out += one;
    return out;
  }

  const std::vector<std::vector<std::string>> commands_;
  std::vector<std::string> replies_;
  std::size_t started_ = 0;
  std::size_t missing_ = 0;  // of those that were started
  bool is_going_on_ = false;
  Handle handle_;                 // null: the connection is gone
  net::RedisReply::Later later_;  // set once a reply has to be waited for
};

RedisTransaction::RedisTransaction() = default;
RedisTransaction::~RedisTransaction() {
  if (execution_) execution_->abandon();
}

bool RedisTransaction::is_executing() const { return execution_ && execution_->has_unstarted(); }

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

void RedisTransaction::execute(Handle handle, net::RedisReply& to) {
  auto commands = std::exchange(commands_, {});
  const bool is_spoiled = is_spoiled_;
  discard();
  if (is_spoiled)
    return reply::error(to.response, "EXECABORT", "Transaction discarded because of previous errors.");
  execution_ = std::make_shared<Execution>(std::move(commands), std::move(handle));
  execution_->begin(to);
}

}  // namespace sluice::doors
