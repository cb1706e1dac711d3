#pragma once

#include <cstdint>

namespace sluice::net {

class Application;

// What a loop calls besides the handlers of its connections. Implemented by the owner of the loop's
// application; one per loop, called only from its thread.
class LoopHooks {
 public:
  virtual ~LoopHooks() = default;

  // Handles the requests. The same object each time; lives as long as this one.
  virtual Application& application() = 0;

  // Called about every ten milliseconds, and when next_due_us() has passed.
  virtual void tick(std::int64_t /*now_us*/) {}
  virtual std::int64_t next_due_us() const { return INT64_MAX; }

  // True if the application cannot take on more work. Then connections that wait for an answer are not read,
  // so that they bring no more.
  virtual bool is_busy() const { return false; }

  // Requests come in bursts: calls to other servers between begin and end may be sent together.
  virtual void begin_burst() {}
  virtual void end_burst() {}
};

}  // namespace sluice::net
