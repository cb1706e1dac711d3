#include "usage/batch/backlog.h"

namespace sluice::usage {

std::unique_ptr<UsageBatch> Backlog::make_batch() {
  if (spares_.empty()) return std::make_unique<UsageBatch>();
  std::unique_ptr<UsageBatch> batch = std::move(spares_.back());
  spares_.pop_back();
  return batch;
}

void Backlog::put_back(std::unique_ptr<UsageBatch> batch) {
  if (spares_.size() >= kSparesMax) return;
  batch->clear();
  spares_.push_back(std::move(batch));
}

void Backlog::close() {
  if (!open_) return;
  closed_bytes_ += open_->memory_bytes();
  closed_.push_back(std::move(open_));
  while (closed_bytes_ > bytes_max_) {
    std::unique_ptr<UsageBatch> oldest = take_oldest();
    dropped_ += oldest->size();
    put_back(std::move(oldest));
  }
}

std::unique_ptr<UsageBatch> Backlog::take_oldest() {
  std::unique_ptr<UsageBatch> oldest = std::move(closed_.front());
  closed_.pop_front();
  closed_bytes_ -= oldest->memory_bytes();
  waiting_ -= oldest->size();
  return oldest;
}

std::unique_ptr<UsageBatch> Backlog::take(std::int64_t now_us) {
  if (closed_.empty() && open_ && now_us - open_->since_us() >= kUsageBatchWaitUs) close();
  return closed_.empty() ? nullptr : take_oldest();
}

}  // namespace sluice::usage
