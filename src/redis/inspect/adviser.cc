#include "redis/inspect/adviser.h"

#include <utility>

namespace sluice::redis {

void Adviser::on_ready() {
  due_at_us_ = 0;
  unanswered_ = 0;  // questions on the previous connection will get no answer
  clock_ = {};
}

void Adviser::tick(std::int64_t now_us) {
  if (every_us_ == 0 || now_us < due_at_us_ || unanswered_ > 0 || !connection_.may_send()) return;
  due_at_us_ = now_us + every_us_;
  facts_ = {};
  for (const char* section : {"server", "memory", "replication"}) ask_for_info(section);
}

void Adviser::ask_for_info(const char* section) {
  ask({"INFO", section}, [this](std::span<const RespValue> reply) {
    const bool knew = facts_.is_cluster_node;
    if (reply.front().type == RespValue::Type::kBytes) read_info(reply.front().bytes, facts_);
    if (facts_.is_cluster_node && !knew) ask_for_coverage();
  });
}

// Only for a node of a Cluster: no other needs the right to ask.
void Adviser::ask_for_coverage() {
  ask({"CONFIG", "GET", "cluster-require-full-coverage"}, [this](std::span<const RespValue> reply) {
    facts_.needs_all_slots = reply.size() == 3 && reply[2].bytes == "yes";
  });
}

void Adviser::ask(std::initializer_list<std::string_view> words, const LoginSession::Answer& read) {
  std::string command;
  append_command(command, words);
  ++unanswered_;
  connection_.ask(command, [this, read](std::span<const RespValue> reply) {
    read(reply);
    if (--unanswered_ == 0) conclude();
  });
}

void Adviser::conclude() {
  std::vector<std::string> advice = advise(connection_.address(), facts_, clock_);
  if (advice == advice_) return;
  advice_ = std::move(advice);
  if (on_change_) on_change_(advice_);
}

}  // namespace sluice::redis
