#include "net/socket/block_pool.h"

#include <cstdlib>
#include <cstring>

namespace sluice::net {

BlockPool::~BlockPool() {
  for (Size& size : free_) {
    while (Head* head = size.first) {
      size.first = head->next;
      std::free(head);
    }
  }
}

void* BlockPool::allocate_new(std::size_t bytes) {
  if (bytes - 1 < kLargestBytes) bytes = ((bytes - 1) / kStepBytes + 1) * kStepBytes;
  auto* head = static_cast<Head*>(std::malloc(sizeof(Head) + bytes));
  if (!head) return nullptr;
  head->bytes = bytes;
  return head + 1;
}

void BlockPool::free_block(Head* head) { std::free(head); }

void* BlockPool::allocate_zeroed(std::size_t count, std::size_t bytes) {
  std::size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return nullptr;
  void* block = allocate(total);
  if (block) std::memset(block, 0, total);
  return block;
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
