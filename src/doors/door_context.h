#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "control/access/authenticator.h"
#include "doors/access/door_engine.h"
#include "doors/admin_seam.h"
#include "doors/check/check_list.h"
#include "doors/door_options.h"
#include "doors/envoy/envoy_answer.h"
#include "doors/envoy/envoy_request.h"
#include "doors/grpc/grpc_health.h"
#include "doors/http/fields/check_json.h"

namespace sluice::doors {

class NodesSeam;

// Scratch space for one call of the Envoy door; reused, so that it allocates nothing once warm.
struct EnvoyScratch {
  EnvoyRequest request;
  std::vector<PlannedDescriptor> planned;  // one per descriptor
  std::string resources;                   // texts of all descriptors
  std::vector<CheckRequest> checks;
  std::vector<CheckRequest> refunds;  // checks whose hits are given back
  EnvoyAnswer answer;
};

// The metrics as strangers see them; empty: not made yet.
struct StrangersMetrics {
  std::string page;
  std::int64_t made_at_us = 0;
};

// What all doors of one thread share: the engine, the options and scratch space. Not thread-safe.
struct DoorContext {
  // `seed` feeds the jitter of Retry-After. `the_admin`: null if there is no admin API. `the_nodes`: null if
  // there is no exchange between nodes. All outlive it.
  DoorContext(Engine& loop_engine, const DoorOptions& door_options, std::uint64_t seed,
              AdminSeam* the_admin = nullptr, NodesSeam* the_nodes = nullptr)
      : engine(loop_engine),
        options(door_options),
        admin(the_admin),
        nodes(the_nodes),
        lease_ids(seed),
        health(door_options),
        gate(door_options.capacity),
        headers(door_options.dialects, seed),
        envoy_headers(door_options.envoy_dialects, seed) {
    if (options.known_callers) authenticator.emplace(*options.known_callers);
  }

  CheckRules check_rules() const { return {.has_default_tenant = engine.has_default_tenant()}; }

  // As AdminSeam::admit_read(); true if there is no admin API.
  bool admit_read(const control::Principal& principal, net::HttpResponse& response) const {
    return !admin || admin->admit_read(principal, response);
  }
  // As AdminSeam::when_recorded(); false if there is no admin API.
  bool when_recorded(std::function<void()> then) const {
    return admin && admin->when_recorded(std::move(then));
  }

  DoorEngine engine;
  const DoorOptions& options;
  std::optional<control::Authenticator> authenticator;  // knows options.known_callers
  AdminSeam* const admin;
  NodesSeam* const nodes;
  std::mt19937_64 lease_ids;  // for leases without a request_id
  Health health;
  LoadGate gate;
  RateLimitHeaders headers, envoy_headers;
  CheckList checks;
  std::string scratch;                      // unescaped or decoded text; the checks point into it
  std::deque<std::string> implied_tenants;  // the checks point into it
  std::string caller;                       // likewise
  EnvoyScratch envoy;
  // Of the request that is being handled; null: none, or nothing is traced. Caller::permit() passes it on.
  const TraceContext* trace = nullptr;
  StrangersMetrics strangers_metrics;
};

}  // namespace sluice::doors
