#include "admin/policies/current_config.h"

#include "base/limits/stream_limits.h"
#include "net/grpc/protobuf_wire.h"
#include "policy/multi_rate/multi_rate_config.h"

namespace sluice::admin {
namespace {

void write_entry(const MultiRateDomain& entry, net::WireWriter& writer) {
  const auto config = writer.begin_message(1);
  writer.string(1, entry.domain);
  writer.string(2, entry.prefix_key);
  for (const MultiRateRate& rate : entry.rates) {
    const auto policy = writer.begin_message(3);
    writer.float64(1, rate.flow_rate_per_second);
    writer.int64(2, rate.burst_capacity);
    writer.string(3, rate.name);
    writer.end_message(policy);
  }
  writer.end_message(config);
}

}  // namespace

bool is_config_request(std::string_view message) {
  net::WireReader reader(message);
  while (reader.next()) {
  }
  return reader.ok();
}

Result<std::string> write_current_config(const Snapshot& snapshot, const control::Principal& principal) {
  std::string message;
  net::WireWriter writer(message);
  for (const MultiRateDomain& entry : multi_rate_config(snapshot)) {
    if (!principal.sees_tenant(entry.domain)) continue;
    write_entry(entry, writer);
    if (message.size() > kCurrentConfigBytesMax)
      return std::unexpected(Error{ErrorCode::kFailedPrecondition,
                                   "there are more entries than fit in one answer; list them with "
                                   "ListPolicies of sluice.v1.RateLimiter",
                                   ""});
  }
  return message;
}

}  // namespace sluice::admin
