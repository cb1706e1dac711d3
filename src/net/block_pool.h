#pragma once

#include <array>
#include <cstddef>

namespace sluice::net {

// Small blocks of memory that are used again instead of being given back. Not thread-safe.
//
// For nghttp2, which allocates about ten small blocks per request. With fifty requests under way at once,
// malloc's own cache (seven blocks of a size) is too small for them.
class BlockPool {
 public:
  BlockPool() = default;
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  // As malloc, calloc, free, realloc. Blocks above kLargestBytes go to malloc.
  void* allocate(std::size_t bytes);
  void* allocate_zeroed(std::size_t count, std::size_t bytes);
  void release(void* block);
  void* resize(void* block, std::size_t bytes);

 private:
  static constexpr std::size_t kStepBytes = 32;
  static constexpr std::size_t kLargestBytes = 512;
  static constexpr std::size_t kKeptPerSizeMax = 4096;

  struct Head;
  struct Size {
    Head* first = nullptr;
    std::size_t count = 0;
  };
  std::array<Size, kLargestBytes / kStepBytes> free_;
};

}  // namespace sluice::net
