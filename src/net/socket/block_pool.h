#pragma once

#include <array>
#include <cstddef>

namespace sluice::net {

// Small blocks of memory that are reused instead of freed. Not thread-safe.
//
// For nghttp2, which allocates about ten small blocks per request. With fifty requests in flight, malloc's
// own cache (seven blocks of a size) is too small for them.
class BlockPool {
 public:
  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // As malloc, calloc, free, realloc. Blocks above kLargestBytes go to malloc.
  void* allocate(std::size_t bytes) {
    if (bytes - 1 < kLargestBytes) [[likely]] {  // not zero, not large
      Size& size = free_[(bytes - 1) / kStepBytes];
      if (Head* head = size.first) [[likely]] {
        size.first = head->next;
        --size.count;
        return head + 1;
      }
    }
    return allocate_new(bytes);
  }
  void* allocate_zeroed(std::size_t count, std::size_t bytes);
  void release(void* block) {
    if (!block) return;
    Head* head = static_cast<Head*>(block) - 1;
    if (head->bytes - 1 >= kLargestBytes) return free_block(head);
    Size& size = free_[(head->bytes - 1) / kStepBytes];
    if (size.count == kKeptPerSizeMax) return free_block(head);
    head->next = size.first;
    size.first = head;
    ++size.count;
  }
  void* resize(void* block, std::size_t bytes);

 private:
  static constexpr std::size_t kStepBytes = 32;
  static constexpr std::size_t kLargestBytes = 512;
  static constexpr std::size_t kKeptPerSizeMax = 4096;

  // Precedes every block.
  struct alignas(std::max_align_t) Head {
    std::size_t bytes;  // that the block has room for
    Head* next;         // while it is free
  };
  static void* allocate_new(std::size_t bytes);
  static void free_block(Head* head);

  struct Size {
    Head* first = nullptr;
    std::size_t count = 0;
  };
  std::array<Size, kLargestBytes / kStepBytes> free_;
};

}  // namespace sluice::net
