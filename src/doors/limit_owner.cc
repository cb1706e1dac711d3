#include "doors/limit_owner.h"

namespace sluice::doors {
namespace {

std::string tenants_text(const std::vector<std::string>& tenants) {
  std::string text = "tenants";
  for (const std::string& tenant : tenants) text.append(" ").append(tenant);
  return text;
}

}  // namespace

std::string owner_name(DoorContext& context, const net::Peer& peer, std::string_view authorization) {
  if (const auto who = context.access->who(peer, authorization))
    return who->tenants.empty() ? who->name : tenants_text(who->tenants);
  const auto address = IpAddress::parse(peer.address);
  return "address " + (address ? address->site().to_string() : peer.address);
}

Result<GivenNumbers> take_limit(DoorContext& context, const GivenLimit& limit, const LimitOwner& owner) {
  GivenLimits& limits = *context.options.given_limits;
  if (const auto known = limits.find(limit)) [[likely]]
    return *known;
  auto added = limits.add(limit, owner ? owner() : "");
  if (!added && context.limiter.is_switch_open()) return GivenNumbers{};
  return added;
}

}  // namespace sluice::doors
