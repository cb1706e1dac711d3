#pragma once

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "admin/admin_call.h"
#include "admin/admin_parts.h"
#include "base/mutex.h"

namespace sluice::admin {

// Sends questions from a loop to the control plane's thread and brings the answers back. Lives on the loop's
// thread.
//
//   const bool taken = client.ask([call](AdminContext& context) { return answer_to(context, call); },
//                               [later](std::optional<Answer>&& answer) { later(answer.value_or(…)); });
class ControlPlaneClient {
 public:
  explicit ControlPlaneClient(const AdminParts& parts) : parts_(parts), inbox_(std::make_shared<Inbox>()) {}
  ControlPlaneClient(const ControlPlaneClient&) = delete;
  ControlPlaneClient& operator=(const ControlPlaneClient&) = delete;

  // `question` runs on the control plane's thread. `on_answer` gets its result on this thread, at a later
  // tick(), never before this function has returned. No result: there was too little memory. False: too many
  // questions are waiting, and neither will run.
  template <class Question, class OnAnswer>
  [[nodiscard]] bool ask(Question question, OnAnswer on_answer);
  // The error for a question that ask() did not accept.
  static Error busy() {
    return {ErrorCode::kUnavailable, "too many changes are queued; try again in a moment", ""};
  }
  // The error for a question without a result. The failure may have come after the database had answered.
  static Error out_of_memory() {
    return {ErrorCode::kUnavailable,
            "out of memory; try again in a moment, and repeat a change with the same "
            "Idempotency-Key, because it may already have been written",
            ""};
  }

  // Delivers the answers that have arrived.
  void tick() { inbox_->run(); }

 private:
  // A reply on its way back. It is allocated before the question is asked, so that delivering it needs no
  // memory.
  class Reply {
   public:
    virtual ~Reply() = default;
    virtual void deliver() = 0;
    std::shared_ptr<Reply> next;  // in the inbox
  };
  template <class Answer, class OnAnswer>
  class ReplyWith final : public Reply {
   public:
    explicit ReplyWith(OnAnswer on_answer) : on_answer_(std::move(on_answer)) {}
    void deliver() override { on_answer_(std::move(answer)); }
    std::optional<Answer> answer;

   private:
    OnAnswer on_answer_;
  };

  // Replies from other threads to the loop. Thread-safe; posting after the loop has ended does nothing.
  class Inbox {
   public:
    void post(std::shared_ptr<Reply> reply) {
      const Lock lock(mutex_);
      Reply* const last = reply.get();
      (last_ != nullptr ? last_->next : first_) = std::move(reply);
      last_ = last;
    }
    // One at a time: if one throws, the others are delivered next time.
    void run() {
      while (const std::shared_ptr<Reply> reply = take()) reply->deliver();
    }

   private:
    std::shared_ptr<Reply> take() {
      const Lock lock(mutex_);
      std::shared_ptr<Reply> reply = std::move(first_);
      if (!reply) return nullptr;
      first_ = std::move(reply->next);
      if (!first_) last_ = nullptr;
      return reply;
    }

    Mutex mutex_;
    std::shared_ptr<Reply> first_ SLUICE_GUARDED_BY(mutex_);
    Reply* last_ SLUICE_GUARDED_BY(mutex_) = nullptr;
  };
  // Posts the reply when the question ends, with or without an answer.
  struct Posting {
    Inbox& inbox;
    std::shared_ptr<Reply> reply;
    ~Posting() { inbox.post(std::move(reply)); }
  };

  const AdminParts parts_;
  const std::shared_ptr<Inbox> inbox_;
};

template <class Question, class OnAnswer>
bool ControlPlaneClient::ask(Question question, OnAnswer on_answer) {
  using Answer = std::invoke_result_t<Question&, AdminContext&>;
  const auto reply = std::make_shared<ReplyWith<Answer, OnAnswer>>(std::move(on_answer));
  return parts_.plane.submit([question = std::move(question), reply, inbox = inbox_,
                              parts = parts_](control::LedgerFollower& follower) {
    Posting posting{*inbox, reply};
    AdminContext context{follower,       parts.catalog, parts.clock,
                         parts.rollouts, parts.staged,  &parts.self_limits};
    reply->answer.emplace(question(context));
  });
}

}  // namespace sluice::admin
