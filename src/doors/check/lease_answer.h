#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "doors/access/caller.h"
#include "doors/check/late_answer.h"
#include "doors/door_context.h"
#include "doors/grpc/field_names.h"

// The common steps of the doors that lease units, after they have read a request. `write` is as in answer().
namespace sluice::doors {

// The request's cost is what is wanted. `key` is its x-idempotency-key, the request_id if the request has no
// other. Without either it gets one of its own. write(const Result<Lease>&, Response&).
template <class Response, class Write>
Result<void> answer_lease(DoorContext& context, const Caller& caller, net::Reply<Response>& reply,
                          CheckRequest& request, std::string_view key, Write write) {
  const bool by_header = request.request_id.empty() && !key.empty();
  if (by_header) request.request_id = key;
  std::string id;
  if (request.request_id.empty()) {
    id = std::to_string(context.lease_ids()) + "-" + std::to_string(context.lease_ids());
    request.request_id = id;
  }
  const Permit permit = SLUICE_TRY(caller.permit({&request, 1}));
  SLUICE_TRY(context.gate.admit(1));
  const DoorOptions& options = context.options;
  const auto note = [&options, claim = LeaseClaim(request),
                     tenant = std::string(context.engine.tenant_of(request))](const Result<Lease>& lease) {
    if (lease && lease->granted > 0) options.leases->add(*lease, claim, tenant, options.clock->now_us());
  };
  answer(
      reply, [&](const auto& postpone) { return context.engine.lease(permit, request, postpone); },
      [note, write, by_header](const Result<Lease>& lease, Response& out) {
        note(lease);
        if (!lease && by_header) return write(std::unexpected(about_key_header(lease.error())), out);
        write(lease, out);
      });
  return {};
}

// write(const Result<void>&, Response&).
template <class Response, class Write>
Result<void> answer_return(DoorContext& context, const Caller& caller, net::Reply<Response>& reply,
                           std::string_view lease_id, std::int64_t unused, Write write) {
  const LeaseClaim claim = SLUICE_TRY(context.engine.read_lease(lease_id));
  std::vector<Dimension> dimensions;
  CheckRequest request = claim.request(dimensions);
  const Permit permit = SLUICE_TRY(caller.permit({&request, 1}));
  SLUICE_TRY(context.gate.admit(1));
  answer(
      reply,
      [&](const auto& postpone) { return context.engine.return_lease(permit, claim, unused, postpone); },
      [&options = context.options, id = std::string(lease_id), write](const Result<void>& returned,
                                                                      Response& out) {
        if (returned) options.leases->remove(id);
        write(returned, out);
      });
  return {};
}

}  // namespace sluice::doors
