#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "admin/admin_call.h"
#include "admin/admin_parts.h"

namespace sluice::admin {

// A loop's way to the control plane's thread and back. Lives on the loop's thread.
//
//   const bool taken = link.ask([call](AdminContext& context) { return answer_to(context, call); },
//                               [later](Answer&& answer) { later(std::move(answer)); });
class PlaneLink {
 public:
  explicit PlaneLink(const AdminParts& parts) : parts_(parts), inbox_(std::make_shared<Inbox>()) {}
  PlaneLink(const PlaneLink&) = delete;
  PlaneLink& operator=(const PlaneLink&) = delete;

  // `question` runs on the control plane's thread; `tell` gets its result on this one, at a later tick(), and
  // never before this function has returned. False: too many wait already, and neither will run.
  template <class Question, class Tell>
  [[nodiscard]] bool ask(Question question, Tell tell);
  // What ask() did not take.
  static Error busy() {
    return {ErrorCode::kUnavailable, "too many changes wait already; try again in a moment", ""};
  }

  // Tells what has come.
  void tick() { inbox_->run(); }

 private:
  // Functions that other threads want to be run on the loop's. Thread-safe; posting to one whose loop has
  // gone does nothing.
  class Inbox {
   public:
    void post(std::function<void()> task) {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    void run() {
      std::vector<std::function<void()>> tasks;
      {
        const std::lock_guard lock(mutex_);
        tasks.swap(tasks_);
      }
      for (const auto& task : tasks) task();
    }

   private:
    std::mutex mutex_;
    std::vector<std::function<void()>> tasks_;  // guarded by mutex_
  };

  const AdminParts parts_;
  const std::shared_ptr<Inbox> inbox_;
};

template <class Question, class Tell>
bool PlaneLink::ask(Question question, Tell tell) {
  return parts_.plane.submit([question = std::move(question), tell = std::move(tell), inbox = inbox_,
                              parts = parts_](control::Registry& registry) {
    AdminContext context{registry, parts.catalog, parts.clock, parts.rollouts, parts.staged};
    auto answer = std::make_shared<decltype(question(context))>(question(context));
    inbox->post([tell, answer] { tell(std::move(*answer)); });
  });
}

}  // namespace sluice::admin
