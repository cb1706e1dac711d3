#include "loadgen/client/worker.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace sluice::loadgen {
namespace {

constexpr std::int64_t kLongestWaitUs = 50'000;  // so that an early end is noticed

}  // namespace

Worker::Worker(const Clock& clock, const Window& window, const Load& load, Schedule schedule,
               NextKey next_key)
    : clock_(clock),
      window_(window),
      schedule_(schedule),
      next_key_(std::move(next_key)),
      key_(next_key_()),
      recorder_(window, schedule.open_loop()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  for (std::size_t i = 0; i < load.connections; ++i)
    connections_.push_back(
        std::make_unique<Connection>(epoll_, load.address, load.make_protocol, load.make_tls));
}

Worker::~Worker() { close(epoll_); }

void Worker::run() {
  for (auto& connection : connections_) {
    connection->open();
    if (!schedule_.open_loop()) start_closed(*connection, clock_.now_us());
    connection->flush();
  }
  std::int64_t now_us = clock_.now_us();
  for (; sending(now_us); now_us = clock_.now_us()) {
    if (schedule_.open_loop()) start_due(now_us);
    reopen_lost(now_us);
    wait_and_handle(now_us);
  }
  // Calls that were due within the window are still sent, and answers awaited.
  const std::int64_t end_us = window_.end_us.load(std::memory_order_relaxed);
  const std::int64_t last_us = now_us + kGraceUs;
  for (; now_us < last_us; now_us = clock_.now_us()) {
    if (schedule_.open_loop()) start_due(end_us - 1);
    if (!anything_pending()) break;
    wait_and_handle(now_us);
  }
  give_up();
}

void Worker::start_closed(Connection& connection, std::int64_t now_us) {
  while (start(connection, now_us)) {
  }
}

// Starts the next call, if there is one and the connection has room.
bool Worker::start(Connection& connection, std::int64_t intended_us) {
  if (!key_ || !connection.start({intended_us, *key_})) return false;
  key_ = next_key_();
  return true;
}

// Sends every call that is due, each on the next connection with a free slot. A call that finds none stays
// due.
void Worker::start_due(std::int64_t now_us) {
  std::size_t full = 0;
  while (key_ && schedule_.next_due_us() <= now_us && full < connections_.size()) {
    Connection& connection = *connections_[next_connection_];
    next_connection_ = (next_connection_ + 1) % connections_.size();
    if (start(connection, schedule_.next_due_us())) {
      schedule_.take(now_us);
      full = 0;
    } else {
      ++full;
    }
  }
  for (auto& connection : connections_) connection->flush();
}

void Worker::reopen_lost(std::int64_t now_us) {
  if (lost_ == 0) return;
  for (auto& connection : connections_) {
    if (connection->is_open() || connection->reopen_at_us() > now_us) continue;
    connection->open();
    if (!connection->is_open()) continue;
    --lost_;
    if (!schedule_.open_loop()) start_closed(*connection, now_us);
    connection->flush();
  }
}

void Worker::wait_and_handle(std::int64_t now_us) {
  std::int64_t wait_us = kLongestWaitUs;
  // A call that is already due waits for a free slot, which an event will announce.
  if (schedule_.open_loop() && schedule_.next_due_us() > now_us)
    wait_us = std::min(wait_us, schedule_.next_due_us() - now_us);
  const timespec timeout{0, wait_us * 1000};
  std::array<epoll_event, 256> events;
  const int n = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  for (int i = 0; i < n; ++i) handle(*static_cast<Connection*>(events[i].data.ptr), events[i].events);
}

void Worker::handle(Connection& connection, unsigned events) {
  if ((events & ~EPOLLOUT) != 0) {
    finished_.clear();
    connection.on_readable(clock_.now_us(), finished_);
    const std::int64_t now_us = clock_.now_us();
    for (const FinishedCall& call : finished_) recorder_.finished(call.intended_us, now_us, call.outcome);
    if (!connection.is_open()) ++lost_;
    if (!schedule_.open_loop() && sending(now_us)) start_closed(connection, now_us);
  }
  connection.flush();
}

bool Worker::anything_pending() const {
  std::vector<std::int64_t> pending;
  for (const auto& connection : connections_) connection->pending(pending);
  return !pending.empty();
}

// Abandons calls without an answer, and calls that were due and never found a free slot.
void Worker::give_up() {
  const std::int64_t now_us = clock_.now_us();
  std::vector<std::int64_t> pending;
  for (const auto& connection : connections_) {
    connection->pending(pending);
    if (!connection->first_failure().empty()) recorder_.note_failure(connection->first_failure());
  }
  for (const std::int64_t intended_us : pending) recorder_.given_up(intended_us, now_us);
  if (!schedule_.open_loop()) return;
  while (schedule_.next_due_us() < window_.end_us.load(std::memory_order_relaxed))
    recorder_.given_up(*schedule_.take(now_us), now_us);
}

}  // namespace sluice::loadgen
