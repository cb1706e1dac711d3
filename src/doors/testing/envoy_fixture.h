#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/grpc/protobuf_wire.h"

namespace sluice::doors::testing {

// A RateLimitRequest, to be encoded as Envoy would.
struct EnvoyMessage {
  struct Override {
    std::uint32_t requests_per_unit = 0;
    std::uint32_t unit = 0;
  };
  struct Descriptor {
    std::vector<std::pair<std::string, std::string>> entries = {};
    std::optional<Override> limit = {};
    std::optional<std::uint64_t> hits = {};
    bool is_negative_hits = false;
  };
  std::string domain = {};
  std::vector<Descriptor> descriptors = {};
  std::uint32_t hits_addend = 0;

  std::string encoded() const {
    std::string out;
    net::WireWriter writer(out);
    writer.string(1, domain);
    for (const Descriptor& descriptor : descriptors) {
      const auto message = writer.begin_message(2);
      for (const auto& [key, value] : descriptor.entries) {
        const auto entry = writer.begin_message(1);
        writer.string(1, key);
        writer.string(2, value);
        writer.end_message(entry);
      }
      if (descriptor.limit) {
        const auto limit = writer.begin_message(2);
        writer.uint64(1, descriptor.limit->requests_per_unit);
        writer.uint64(2, descriptor.limit->unit);
        writer.end_message(limit);
      }
      if (descriptor.hits) {
        const auto hits = writer.begin_message(3);
        writer.uint64(1, *descriptor.hits);
        writer.end_message(hits);
      }
      writer.boolean(4, descriptor.is_negative_hits);
      writer.end_message(message);
    }
    writer.uint64(3, hits_addend);
    return out;
  }
};

}  // namespace sluice::doors::testing
