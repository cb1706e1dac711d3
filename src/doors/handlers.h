#pragma once

#include <memory>

#include "base/error.h"
#include "doors/grpc/grpc_call.h"
#include "net/http/http_api.h"

// The handlers of all endpoints, one signature per protocol. endpoints.cc says which handler is where, and
// who may call it.
//
// A handler reads the request, asks the caller for a permit, asks the engine, and writes the answer: at once
// or later. If it returns an error, that is the answer. REQUIRES: then it has not postponed the answer.
namespace sluice::doors {

class Caller;
struct DoorContext;

// An HTTP request, and how to answer it. Valid only while it is handled.
struct HttpCall {
  const net::HttpRequest& request;
  net::HttpReply& reply;
};

using HttpHandler = Result<void>(DoorContext& context, const Caller& caller, const HttpCall& call);
using GrpcHandler = Result<void>(DoorContext& context, const Caller& caller, const GrpcCall& call);
using StreamHandler = std::unique_ptr<net::GrpcStreamHandler>(DoorContext& context,
                                                              const net::GrpcContext& call,
                                                              net::GrpcStream& stream);

HttpHandler http_check, http_check_batch;                               // http/http_check.cc
HttpHandler http_authorize;                                             // http/http_authorize.cc
HttpHandler http_lease, http_return_lease, http_leases;                 // http/http_lease.cc
HttpHandler http_hot_keys;                                              // http/http_hot_keys.cc
HttpHandler http_decisions;                                             // http/http_decisions.cc
HttpHandler http_nodes;                                                 // http/http_nodes.cc
HttpHandler http_usage, http_reset;                                     // http/http_usage.cc
HttpHandler http_healthz, http_readyz, http_healthcheck, http_metrics;  // http/http_operations.cc
HttpHandler http_openapi;                                               // http/openapi.cc
HttpHandler http_dashboard;                                             // http/dashboard/dashboard.cc
HttpHandler http_session, http_login, http_logout;                      // http/dashboard/session.cc
HttpHandler http_envoy_json;                                            // envoy/envoy_rls.cc

GrpcHandler grpc_check, grpc_check_batch, grpc_get_usage, grpc_reset_key;      // grpc/grpc_rate_limiter.cc
GrpcHandler grpc_lease, grpc_return_lease;                                     // grpc/grpc_rate_limiter.cc
GrpcHandler grpc_should_rate_limit;                                            // envoy/envoy_rls.cc
GrpcHandler multi_rate_consume_and_check_limit, multi_rate_get_bucket_status;  // grpc/multi_rate_service.cc
GrpcHandler allow, allow_n, allow_reset;                                       // grpc/allow_service.cc
GrpcHandler quota_check_rate_limit, quota_get_remaining, quota_reset_limit;    // grpc/quota_service.cc
GrpcHandler grpc_check_health;                                                 // grpc/grpc_health.cc
GrpcHandler grpc_configure_policy, grpc_get_current_config;                    // the admin API; endpoints.cc

StreamHandler grpc_watch_health;   // grpc/grpc_health.cc
StreamHandler grpc_reflect;        // grpc/reflection/grpc_reflection.cc
StreamHandler grpc_list_policies;  // the admin API; endpoints.cc

}  // namespace sluice::doors
