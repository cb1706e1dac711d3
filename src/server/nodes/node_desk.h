#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "doors/nodes_seam.h"

namespace sluice::server {

// What a node wants to know from the others, and what it can tell them: where loops leave questions, and the
// NodeExchange takes them up. Thread-safe.
//
//   desk.on_question("decisions", [&](std::string_view body) { return decisions_like(body); });
//   desk.ask("decisions", "…", [](doors::NodeAnswers&& all) { … });  // called on the exchange's thread
class NodeDesk {
 public:
  using Look = std::function<void(doors::NodesSeen&&)>;
  using Then = std::function<void(doors::NodeAnswers&&)>;
  // Answers a question of any node, this one included, in at most kNodeAnswerBytesMax bytes; a longer answer
  // is not sent. Called on the exchange's thread, beside checks, at most kNodeQuestionsMax times a second for
  // other nodes: it must be quick, and its work bounded whatever the body says. Other nodes may be of another
  // version: a body that it does not understand is answered with nothing.
  using Handler = std::function<std::string(std::string_view body)>;

  // `self`: what this node reports now.
  explicit NodeDesk(std::function<NodeReport()> self) : self_(std::move(self)) {}

  // REQUIRES: the exchange does not run yet.
  void on_question(std::string topic, Handler handler) {
    handlers_.insert_or_assign(std::move(topic), std::move(handler));
  }

  // False: too many are waiting.
  bool look(Look then);
  bool ask(std::string topic, std::string body, Then then);

  // For the exchange.
  struct Question {
    std::string topic, body;
    Then then;
  };
  std::vector<Look> take_looks();
  std::vector<Question> take_questions(std::size_t most);
  NodeReport self() const { return self_(); }
  // Empty: there is no handler for the topic, or it has nothing to say.
  std::string answer(std::string_view topic, std::string_view body) const;

 private:
  const std::function<NodeReport()> self_;
  std::map<std::string, Handler, std::less<>> handlers_;
  Mutex mutex_;
  std::vector<Look> looks_ SLUICE_GUARDED_BY(mutex_);
  std::vector<Question> questions_ SLUICE_GUARDED_BY(mutex_);
};

// The desk for the doors of one loop: brings answers back to its thread. Lives on the loop's thread.
class LoopNodes final : public doors::NodesSeam {
 public:
  // REQUIRES: the desk outlives it.
  explicit LoopNodes(NodeDesk& desk) : desk_(desk), inbox_(std::make_shared<Inbox>()) {}

  bool look(std::function<void(doors::NodesSeen&&)> then) override;
  bool ask(std::string topic, std::string body, std::function<void(doors::NodeAnswers&&)> then) override;
  void tick() override;

 private:
  // Posting after the loop has ended does nothing.
  struct Inbox {
    void post(std::function<void()> delivery) {
      const Lock lock(mutex);
      deliveries.push_back(std::move(delivery));
    }
    Mutex mutex;
    std::vector<std::function<void()>> deliveries SLUICE_GUARDED_BY(mutex);
  };
  template <class Answer>
  std::function<void(Answer&&)> brought_back(std::function<void(Answer&&)> then) const;

  NodeDesk& desk_;
  const std::shared_ptr<Inbox> inbox_;
};

}  // namespace sluice::server
