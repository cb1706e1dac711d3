#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::net {

struct Header {
  std::string_view name;  // lower case, without the colon
  std::string_view value;
};

// Headers in their order, in one piece of memory that is reused after clear(): no allocation once warm. Not
// thread-safe. Views into it are invalid after the next change.
//
//   headers.emplace_back("retry-after", "1");
//   for (const auto& [name, value] : headers) …
//
// The text is stored as HTTP/1 writes it, so that HTTP/1 sends a list with one copy.
class HeaderList {
 public:
  void emplace_back(std::string_view name, std::string_view value) {
    const std::size_t at = text_.size();
    const std::size_t bytes = name.size() + value.size() + 2 * kMarkBytes;
    text_.resize_and_overwrite(at + bytes, [&](char* text, std::size_t) {
      char* end = text + at;
      end += name.copy(end, name.size());
      std::memcpy(end, ": ", kMarkBytes);
      end += kMarkBytes;
      end += value.copy(end, value.size());
      std::memcpy(end, "\r\n", kMarkBytes);
      return at + bytes;
    });
    entries_.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
  }

  Header operator[](std::size_t i) const {
    const Entry& entry = entries_[i];
    const char* name = text_.data() + entry.at;
    return {{name, entry.name_bytes}, {name + entry.name_bytes + kMarkBytes, entry.value_bytes}};
  }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void clear() {
    entries_.clear();
    text_.clear();
  }

  // All of them as "name: value\r\nname: value\r\n".
  std::string_view http1_lines() const { return text_; }

  class Iterator {
   public:
    Iterator(const HeaderList& list, std::size_t i) : list_(&list), i_(i) {}
    Header operator*() const { return (*list_)[i_]; }
    Iterator& operator++() { return ++i_, *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const HeaderList* list_;
    std::size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  static constexpr std::size_t kMarkBytes = 2;  // of ": " and of "\r\n"

  struct Entry {
    std::uint32_t at, name_bytes, value_bytes;
  };
  std::vector<Entry> entries_;
  std::string text_;
};

}  // namespace sluice::net
