#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sluice {

// The expensive commands that the loops of a process have in flight, by server: how long the server is known
// to be busy with them. Thread-safe; one for all loops.
//
// A call that waits behind them, on whichever connection, says nothing about the server: its deadline starts
// when they are done. Cheap commands are not counted, so most never touch this. Servers share places by their
// names; then there is more patience than need be.
class WorkInFlight {
 public:
  // Of one server. All commands of a process to it.
  class Server {
   public:
    // REQUIRES: work is that of one command, as RedisWork counts it. Returns how long all commands that are
    // in flight now, this one included, keep the server busy; 0 unless one is expensive.
    std::int64_t add(std::uint64_t work) {
      return us_of(is_expensive(work) ? work_.fetch_add(work) + work : work_.load());
    }
    void remove(std::uint64_t work) {
      if (is_expensive(work)) work_.fetch_sub(work);
    }

   private:
    std::atomic<std::uint64_t> work_ = 0;
  };

  Server& at(std::string_view server) { return servers_[std::hash<std::string_view>()(server) % kPlaces]; }

  // How long a command of its own keeps a server busy; 0 if it is cheap.
  static std::int64_t busy_us(std::uint64_t work) { return is_expensive(work) ? us_of(work) : 0; }

 private:
  static constexpr std::size_t kPlaces = 64;
  static constexpr std::uint64_t kExpensive = 64;
  static constexpr std::int64_t kUsPerUnit = 4;  // a unit takes 3 µs, and more in a log that is written

  static bool is_expensive(std::uint64_t work) { return work >= kExpensive; }
  static std::int64_t us_of(std::uint64_t work) { return static_cast<std::int64_t>(work) * kUsPerUnit; }

  std::array<Server, kPlaces> servers_;
};

}  // namespace sluice
