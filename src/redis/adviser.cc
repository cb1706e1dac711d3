#include "redis/adviser.h"

#include <utility>

namespace sluice::redis {

void Adviser::on_ready() {
  due_at_us_ = 0;
  clock_ = {};
}

void Adviser::tick(std::int64_t now_us) {
  if (every_us_ == 0 || now_us < due_at_us_ || !connection_.may_send()) return;
  due_at_us_ = now_us + every_us_;
  facts_ = {};
  ask_about("server", false);
  ask_about("memory", false);
  ask_about("replication", true);
}

void Adviser::ask_about(const char* section, bool last) {
  std::string command;
  append_command(command, {"INFO", section});
  connection_.ask(command, [this, last](std::span<const RespValue> reply) {
    if (reply.front().type == RespValue::Type::kBytes) read_info(reply.front().bytes, facts_);
    if (last) conclude();
  });
}

void Adviser::conclude() {
  std::vector<std::string> advice = advise(connection_.address(), facts_, clock_);
  if (advice == advice_) return;
  advice_ = std::move(advice);
  if (on_change_) on_change_(advice_);
}

}  // namespace sluice::redis
