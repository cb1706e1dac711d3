#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/observe/decision_observer.h"

namespace sluice {

// A copy of what checks asked, for observers of a decision that comes later: a request's texts are gone by
// then. Not thread-safe; reused, so that it allocates nothing once warm.
class KeptTexts {
 public:
  // Forgets all, and gives back the memory of requests that were unusually large.
  void clear();
  void add(const AskedTexts& asked);

  std::size_t size() const { return kept_.size(); }
  // Valid until the next call.
  AskedTexts operator[](std::size_t i);

 private:
  static constexpr std::size_t kReservedBytesMax = 4'096;

  struct Kept {
    std::size_t begin;  // in bytes_: tenant, resource, key, request id, then the dimensions
    std::size_t tenant, resource, key, request_id;  // lengths
    std::size_t first_dimension, dimensions;
    TraceContext trace;
    bool has_trace;
  };
  struct Lengths {
    std::size_t name, value;
  };

  std::string bytes_;
  std::vector<Kept> kept_;
  std::vector<Lengths> lengths_;       // of all dimensions
  std::vector<Dimension> dimensions_;  // of the request that was read last
};

}  // namespace sluice
