#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::usage {

// Events that are sent together, as they are sent: each a line of JSON, and the key that says which of them
// must stay in order. Not thread-safe; reused, so that it allocates nothing once warm.
class UsageBatch {
 public:
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::size_t bytes() const { return text_.size(); }
  // What it holds, used or not.
  std::size_t memory_bytes() const {
    return sizeof(*this) + text_.capacity() + ends_.capacity() * sizeof(Ends);
  }
  std::string_view key(std::size_t i) const {
    return std::string_view(text_).substr(begin(i), ends_[i].key - begin(i));
  }
  std::string_view body(std::size_t i) const {
    return std::string_view(text_).substr(ends_[i].key, ends_[i].body - ends_[i].key);
  }
  // When its first event was added. REQUIRES: not empty
  std::int64_t since_us() const { return since_us_; }

  // `write_key` and `write_body` append to the text that they are given.
  template <class WriteKey, class WriteBody>
  void add(std::int64_t now_us, WriteKey&& write_key, WriteBody&& write_body) {
    if (empty()) since_us_ = now_us;
    write_key(text_);
    const std::size_t key_end = text_.size();
    write_body(text_);
    ends_.push_back({key_end, text_.size()});
  }
  void clear() {
    text_.clear();
    ends_.clear();
  }

 private:
  struct Ends {
    std::size_t key, body;
  };
  std::size_t begin(std::size_t i) const { return i == 0 ? 0 : ends_[i - 1].body; }

  std::string text_;
  std::vector<Ends> ends_;
  std::int64_t since_us_ = 0;
};

}  // namespace sluice::usage
