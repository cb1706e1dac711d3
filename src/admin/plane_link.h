#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "admin/admin_call.h"
#include "admin/admin_parts.h"

namespace sluice::admin {

// A loop's way to the control plane's thread and back. Lives on the loop's thread.
//
//   const bool taken = link.ask([call](AdminContext& context) { return answer_to(context, call); },
//                               [later](std::optional<Answer>&& answer) { later(answer.value_or(…)); });
class PlaneLink {
 public:
  explicit PlaneLink(const AdminParts& parts) : parts_(parts), inbox_(std::make_shared<Inbox>()) {}
  PlaneLink(const PlaneLink&) = delete;
  PlaneLink& operator=(const PlaneLink&) = delete;

  // `question` runs on the control plane's thread; `tell` gets its result on this one, at a later tick(), and
  // never before this function has returned. No result: there was too little memory for it. False: too many
  // wait already, and neither will run.
  template <class Question, class Tell>
  [[nodiscard]] bool ask(Question question, Tell tell);
  // What ask() did not take.
  static Error busy() {
    return {ErrorCode::kUnavailable, "too many changes wait already; try again in a moment", ""};
  }
  // What has no result. It may have failed on the way back from the database.
  static Error out_of_memory() {
    return {ErrorCode::kUnavailable,
            "there was too little memory to finish this; try again in a moment, and send a change with the "
            "same Idempotency-Key, since nobody knows whether it was written",
            ""};
  }

  // Tells what has come.
  void tick() { inbox_->run(); }

 private:
  // An answer on its way back. It is there before the question is asked, so that nothing has to be found for
  // it when memory is short.
  class Reply {
   public:
    virtual ~Reply() = default;
    virtual void tell() = 0;
    std::shared_ptr<Reply> next;  // in the inbox
  };
  template <class Answer, class Tell>
  class ReplyWith final : public Reply {
   public:
    explicit ReplyWith(Tell tell) : tell_(std::move(tell)) {}
    void tell() override { tell_(std::move(answer)); }
    std::optional<Answer> answer;

   private:
    Tell tell_;
  };

  // Replies that other threads have for the loop. Thread-safe; posting to one whose loop has gone does
  // nothing.
  class Inbox {
   public:
    void post(std::shared_ptr<Reply> reply) {
      const std::lock_guard lock(mutex_);
      Reply* const last = reply.get();
      (last_ != nullptr ? last_->next : first_) = std::move(reply);
      last_ = last;
    }
    // One by one: if it fails, the others are told the next time.
    void run() {
      while (const std::shared_ptr<Reply> reply = take()) reply->tell();
    }

   private:
    std::shared_ptr<Reply> take() {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Reply> reply = std::move(first_);
      if (!reply) return nullptr;
      first_ = std::move(reply->next);
      if (!first_) last_ = nullptr;
      return reply;
    }

    std::mutex mutex_;
    std::shared_ptr<Reply> first_;  // guarded by mutex_, as is the next
    Reply* last_ = nullptr;
  };
  // Posts the reply when the question is over, with or without an answer.
  struct Posting {
    Inbox& inbox;
    std::shared_ptr<Reply> reply;
    ~Posting() { inbox.post(std::move(reply)); }
  };

  const AdminParts parts_;
  const std::shared_ptr<Inbox> inbox_;
};

template <class Question, class Tell>
bool PlaneLink::ask(Question question, Tell tell) {
  using Answer = std::invoke_result_t<Question&, AdminContext&>;
  const auto reply = std::make_shared<ReplyWith<Answer, Tell>>(std::move(tell));
  return parts_.plane.submit(
      [question = std::move(question), reply, inbox = inbox_, parts = parts_](control::Registry& registry) {
        Posting posting{*inbox, reply};
        AdminContext context{registry, parts.catalog, parts.clock, parts.rollouts, parts.staged};
        reply->answer.emplace(question(context));
      });
}

}  // namespace sluice::admin
