#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/engine.h"

namespace sluice::doors {

// Proof that the caller of an endpoint may do what they ask for. Only Caller makes one. A plain value.
class Permit {
 private:
  friend class Caller;
  Permit() = default;
};

// The engine as the doors use it: Engine's functions, but all that charge, show or reset counters need a
// Permit. So a handler that forgets to ask for one does not compile. Belongs to its loop's thread.
class DoorEngine {
 public:
  // The engine outlives it.
  explicit DoorEngine(Engine& engine) : engine_(engine) {}

  template <class Postpone>
  auto check(Permit, const CheckRequest& request, const Postpone& postpone) {
    return engine_.check(request, postpone);
  }
  template <class Postpone>
  auto check_together(Permit, std::span<const CheckRequest> requests, const Postpone& postpone) {
    return engine_.check_together(requests, postpone);
  }
  template <class Postpone>
  auto lease(Permit, const CheckRequest& request, const Postpone& postpone) {
    return engine_.lease(request, postpone);
  }
  template <class Postpone>
  auto return_lease(Permit, const LeaseClaim& claim, std::int64_t unused, const Postpone& postpone) {
    return engine_.return_lease(claim, unused, postpone);
  }
  template <class Postpone>
  auto usage(Permit, const CheckRequest& request, const Postpone& postpone) {
    return engine_.usage(request, postpone);
  }
  template <class Postpone>
  auto usage_together(Permit, std::span<const CheckRequest> requests, const Postpone& postpone) {
    return engine_.usage_together(requests, postpone);
  }
  template <class Postpone>
  auto give_back(Permit, std::span<const CheckRequest> requests, RefundReach reach,
                 const Postpone& postpone) {
    return engine_.give_back(requests, reach, postpone);
  }
  template <class Postpone>
  auto reset(Permit, const CheckRequest& request, ResetReach reach, const Postpone& postpone) {
    return engine_.reset(request, reach, postpone);
  }

  Result<LeaseClaim> read_lease(std::string_view id) const { return engine_.read_lease(id); }
  Result<void> validate(const CheckRequest& request) { return engine_.validate(request); }
  Result<void> validate_give_back(std::span<const CheckRequest> requests) {
    return engine_.validate_give_back(requests);
  }
  std::optional<Dedupe> identity(const CheckRequest& request) { return engine_.identity(request); }
  void count_denied(const CompiledPolicy& policy) { engine_.count_denied(policy); }

  Engine::Hold hold() { return Engine::Hold(engine_); }
  Engine::InOrder in_order() { return Engine::InOrder(engine_); }

  void set_caller(std::uint32_t caller) { engine_.set_caller(caller); }
  bool has_default_tenant() const { return engine_.has_default_tenant(); }
  std::string_view tenant_of(const CheckRequest& request) { return engine_.tenant_of(request); }
  bool is_switch_open() const { return engine_.is_switch_open(); }

 private:
  Engine& engine_;
};

}  // namespace sluice::doors
