#include "redis/protocol/server_error.h"

#include <string>

namespace sluice::redis {
namespace {

using enum ServerError;

constexpr ServerErrorAdvice kAdvice[] = {
    {"NOSCRIPT", kNoScript, "noscript", "the script is not loaded", false},
    {"LOADING", kLoading, "loading", "the server is still loading its data", false},
    {"MASTERDOWN", kMasterDown, "masterdown", "this is a replica that has lost its master", true},
    {"BUSY", kBusy, "busy", "another script has been running for too long; see SCRIPT KILL", false},
    {"OOM", kOutOfMemory, "oom", "the server has no memory left; raise maxmemory", false},
    {"READONLY", kReadOnly, "readonly", "this is a replica; connect to its master", true},
    {"NOREPLICAS", kNoReplicas, "noreplicas", "too few replicas for the server to accept writes", false},
    {"MISCONF", kMisconfigured, "misconf", "the server cannot save its data and accepts no writes", false},
    {"NOAUTH", kNotLoggedIn, "noauth", "the server requires a password", true},
    {"WRONGPASS", kNotLoggedIn, "noauth", "the user or password is wrong", true},
    {"NOPERM", kNotAllowed, "noperm", "the user lacks rights; see ACL SETUSER", true},
    {"ERR max number of clients", kTooManyClients, "maxclients", "the server has too many clients", true},
    {"MOVED", kMoved, "moved", "this is a node of a cluster; connect with redis+cluster://", false},
    {"ASK", kAsk, "ask", "this is a node of a cluster; connect with redis+cluster://", false},
    {"TRYAGAIN", kTryAgain, "tryagain", "the slot is being moved and its keys are on two nodes", false},
    {"CLUSTERDOWN Hash slot not served", kSlotNotServed, "slotnotserved",
     "no node serves the slot; see CLUSTER ADDSLOTS", false},
    {"CLUSTERDOWN", kClusterDown, "clusterdown", "the cluster is down; see CLUSTER INFO", false},
    {"TENANTMOVING", kTenantMoving, "tenantmoving", "a tenant's counters are moving to another server",
     false},
    {"STOREFULL", kStoreFull, "storefull", "there is no memory for new counters", false},
    {"CROSSSLOT", kCrossSlot, "crossslot", "this is a node of a cluster; connect with redis+cluster://",
     false},
};
// The reply does not name the command.
constexpr ServerErrorAdvice kNotAllowedInScript = {"", kNotAllowed, "noperm",
                                                   "the user may run our script but lacks a right that the "
                                                   "script needs (+time, +mget, +set and +del, on our "
                                                   "keys); see ACL SETUSER",
                                                   true};
constexpr ServerErrorAdvice kUnknown = {"", kOther, "other", "the server answered with an error", false};

bool has_code(std::string_view reply, std::string_view code) {
  const auto ends_at = [&](std::size_t end) {
    return end == reply.size() || reply[end] == ' ' || reply[end] == '\r';
  };
  if (reply.starts_with(code)) return ends_at(code.size());
  const std::size_t passed_on = reply.find("-" + std::string(code));
  return passed_on != std::string_view::npos && ends_at(passed_on + 1 + code.size());
}

}  // namespace

const ServerErrorAdvice& explain_server_error(std::string_view reply) {
  for (const std::string_view words : {"The user executing the script can't", "ACL failure in script"})
    if (reply.contains(words)) return kNotAllowedInScript;
  for (const ServerErrorAdvice& advice : kAdvice)
    if (has_code(reply, advice.code)) return advice;
  return kUnknown;
}

std::string_view label_of(ServerError kind) {
  for (const ServerErrorAdvice& advice : kAdvice)
    if (advice.kind == kind) return advice.label;
  return kUnknown.label;
}

}  // namespace sluice::redis
