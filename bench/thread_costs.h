#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <new>

// What a thread has used, for benchmarks. Include it in one file of a program: it replaces operator new.

// The allocations of this thread so far.
inline thread_local std::uint64_t allocations = 0;

inline void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// The CPU time of this thread so far.
inline std::int64_t cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
