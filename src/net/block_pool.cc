#include "net/block_pool.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sluice::net {

// Stands before every block.
struct alignas(std::max_align_t) BlockPool::Head {
  std::size_t bytes;  // that the block has room for
  Head* next;         // while it is free
};

BlockPool::~BlockPool() {
  for (Size& size : free_) {
    while (Head* head = size.first) {
      size.first = head->next;
      std::free(head);
    }
  }
}

void* BlockPool::allocate(std::size_t bytes) {
  if (bytes - 1 < kLargestBytes) {  // not zero, not large
    const std::size_t number = (bytes - 1) / kStepBytes;
    Size& size = free_[number];
    if (Head* head = size.first) {
      size.first = head->next;
      --size.count;
      return head + 1;
    }
    bytes = (number + 1) * kStepBytes;
  }
  auto* head = static_cast<Head*>(std::malloc(sizeof(Head) + bytes));
  if (!head) return nullptr;
  head->bytes = bytes;
  return head + 1;
}

void* BlockPool::allocate_zeroed(std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return nullptr;
  void* block = allocate(total);
  if (block) std::memset(block, 0, total);
  return block;
}

void BlockPool::release(void* block) {
  if (!block) return;
  Head* head = static_cast<Head*>(block) - 1;
  if (head->bytes - 1 < kLargestBytes) {
    Size& size = free_[(head->bytes - 1) / kStepBytes];
    if (size.count < kKeptPerSizeMax) {
      head->next = size.first;
      size.first = head;
      ++size.count;
      return;
    }
  }
  std::free(head);
}

void* BlockPool::resize(void* block, std::size_t bytes) {
  if (!block) return allocate(bytes);
  const std::size_t old_bytes = (static_cast<Head*>(block) - 1)->bytes;
  if (bytes <= old_bytes) return block;
  void* larger = allocate(bytes);
  if (!larger) return nullptr;
  std::memcpy(larger, block, old_bytes);
  release(block);
  return larger;
}

}  // namespace sluice::net
