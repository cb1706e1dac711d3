// Counts the allocations of checks in memory, once warm: by a name that is known, with dimensions, denied and
// looking. Prints how many there were.
#include <sluice/open.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

long allocations = 0;

void check_all(sluice::Limiter& limiter, const std::vector<std::string>& keys) {
  const std::array<std::pair<std::string_view, std::string_view>, 1> region = {{{"region", "eu"}}};
  for (const std::string& key : keys) {
    limiter.check({.key = key, .tenant = "shop", .resource = "/api/orders", .dimensions = region});
    limiter.check({.key = key, .resource = "/reports", .cost = 0});
    limiter.check_async({.key = key, .resource = "/reports"}, [](const sluice::Answer&) {});
  }
}

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

int main(int, char** words) {
  const auto opened = sluice::open_memory({.policies = {.file = words[1]}});
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error.c_str()), 1;
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("user_" + std::to_string(i));
  // Warm is a round without an allocation: until then, this thread may come to a processor whose engine is
  // new.
  for (int round = 0; round < 1000; ++round) {
    const long before = allocations;
    check_all(*opened.limiter, keys);
    if (round > 0 && allocations == before) return std::puts("none"), 0;
  }
  return std::puts("some in every round"), 1;
}
