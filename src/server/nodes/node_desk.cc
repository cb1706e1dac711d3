#include "server/nodes/node_desk.h"

#include <algorithm>
#include <iterator>

#include "base/limits/node_limits.h"

namespace sluice::server {

bool NodeDesk::look(Look then) {
  const Lock lock(mutex_);
  if (looks_.size() >= kNodeQuestionsWaitingMax) return false;
  looks_.push_back(std::move(then));
  return true;
}

bool NodeDesk::ask(std::string topic, std::string body, Then then) {
  const Lock lock(mutex_);
  if (questions_.size() >= kNodeQuestionsWaitingMax || topic.size() + body.size() > kNodeQuestionBytesMax)
    return false;
  questions_.push_back({std::move(topic), std::move(body), std::move(then)});
  return true;
}

std::vector<NodeDesk::Look> NodeDesk::take_looks() {
  const Lock lock(mutex_);
  return std::exchange(looks_, {});
}

std::vector<NodeDesk::Question> NodeDesk::take_questions(std::size_t most) {
  const Lock lock(mutex_);
  const auto end = questions_.begin() + static_cast<std::ptrdiff_t>(std::min(most, questions_.size()));
  std::vector<Question> taken(std::move_iterator(questions_.begin()), std::move_iterator(end));
  questions_.erase(questions_.begin(), end);
  return taken;
}

std::string NodeDesk::answer(std::string_view topic, std::string_view body) const {
  const auto handler = handlers_.find(topic);
  if (handler == handlers_.end()) return "";
  std::string answer = handler->second(body);
  return answer.size() > kNodeAnswerBytesMax ? "" : answer;
}

template <class Answer>
std::function<void(Answer&&)> LoopNodes::brought_back(std::function<void(Answer&&)> then) const {
  return [inbox = inbox_, then = std::move(then)](Answer&& answer) {
    inbox->post([then, answer = std::make_shared<Answer>(std::move(answer))] { then(std::move(*answer)); });
  };
}

bool LoopNodes::look(std::function<void(doors::NodesSeen&&)> then) {
  return desk_.look(brought_back(std::move(then)));
}

bool LoopNodes::ask(std::string topic, std::string body, std::function<void(doors::NodeAnswers&&)> then) {
  return desk_.ask(std::move(topic), std::move(body), brought_back(std::move(then)));
}

void LoopNodes::tick() {
  std::vector<std::function<void()>> deliveries;
  {
    const Lock lock(inbox_->mutex);
    deliveries.swap(inbox_->deliveries);
  }
  for (const auto& deliver : deliveries) deliver();
}

}  // namespace sluice::server
