#pragma once

#include <condition_variable>
#include <mutex>

// Locks that the compiler checks. Clang proves that what a mutex guards is touched only while it is held, and
// refuses to compile what does not (-Wthread-safety, in the build of the tests); to GCC the annotations are
// nothing.
//
//   class Registry {
//    public:
//     void add(Token token) {
//       const Lock lock(mutex_);
//       insert(std::move(token));
//     }
//
//    private:
//     void insert(Token token) SLUICE_REQUIRES(mutex_);  // only while it is held
//
//     Mutex mutex_;
//     std::vector<Token> tokens_ SLUICE_GUARDED_BY(mutex_);
//   };
//
// Say SLUICE_PT_GUARDED_BY of a pointer whose target is guarded. Say SLUICE_NO_THREAD_SAFETY_ANALYSIS of a
// function that the proof cannot follow, with the reason.
#if defined(__clang__)
#define SLUICE_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define SLUICE_THREAD_ANNOTATION(x)
#endif
#define SLUICE_CAPABILITY(name) SLUICE_THREAD_ANNOTATION(capability(name))
#define SLUICE_SCOPED_CAPABILITY SLUICE_THREAD_ANNOTATION(scoped_lockable)
#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_ANNOTATION(guarded_by(mutex))
#define SLUICE_PT_GUARDED_BY(mutex) SLUICE_THREAD_ANNOTATION(pt_guarded_by(mutex))
#define SLUICE_REQUIRES(...) SLUICE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define SLUICE_EXCLUDES(...) SLUICE_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define SLUICE_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define SLUICE_TRY_ACQUIRE(...) SLUICE_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define SLUICE_RELEASE(...) SLUICE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define SLUICE_NO_THREAD_SAFETY_ANALYSIS SLUICE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace sluice {

// A std::mutex that can be named in annotations. Thread-safe.
class SLUICE_CAPABILITY("mutex") Mutex {
 public:
  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  bool try_lock() SLUICE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds a Mutex, or another lock of that kind, until the end of the block. Belongs to one thread.
template <class Lockable = Mutex>
class SLUICE_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Lockable& mutex) SLUICE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() SLUICE_RELEASE() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Lockable& mutex_;
};

// Waits for a change of what a Mutex guards: the Mutex itself is the lock, as in
// `while (!ready_) woken_.wait(mutex_);`. Thread-safe.
using Condition = std::condition_variable_any;

}  // namespace sluice
