#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/limits/usage_limits.h"
#include "usage/batch/usage_batch.h"

namespace sluice::usage {

// The events that wait to be sent, in batches, oldest first. If they need more memory than they may, the
// oldest batch is dropped. Not thread-safe.
//
//   backlog.add(now_us, write_key, write_body);
//   while (sink.has_room())
//     if (auto batch = backlog.take(now_us)) sink.take(std::move(batch)); else break;
//   backlog.put_back(std::move(sent));   // its memory is used again
class Backlog {
 public:
  // `bytes_max`: of the batches that wait.
  explicit Backlog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  template <class WriteKey, class WriteBody>
  void add(std::int64_t now_us, WriteKey&& write_key, WriteBody&& write_body) {
    if (!open_) open_ = make_batch();
    open_->add(now_us, std::forward<WriteKey>(write_key), std::forward<WriteBody>(write_body));
    ++waiting_;
    if (open_->size() >= kUsageBatchMax || open_->bytes() >= kUsageBatchBytesMax) close();
  }

  // The oldest batch that is due: full or, if it is the last, kUsageBatchWaitUs old. Null: none is.
  std::unique_ptr<UsageBatch> take(std::int64_t now_us);
  // Takes back a batch that was sent.
  void put_back(std::unique_ptr<UsageBatch> batch);
  // All that waits is due.
  void close();

  std::size_t waiting() const { return waiting_; }    // events
  std::uint64_t dropped() const { return dropped_; }  // events, so far
  bool has_closed() const { return !closed_.empty(); }

 private:
  static constexpr std::size_t kSparesMax = 2 * kUsageBatchesInHandMax;

  std::unique_ptr<UsageBatch> make_batch();
  std::unique_ptr<UsageBatch> take_oldest();

  const std::size_t bytes_max_;
  std::unique_ptr<UsageBatch> open_;  // null: nothing came since the last one was closed
  std::deque<std::unique_ptr<UsageBatch>> closed_;
  std::vector<std::unique_ptr<UsageBatch>> spares_;
  std::size_t closed_bytes_ = 0;
  std::size_t waiting_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::usage
