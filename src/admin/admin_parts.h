#pragma once

#include "admin/self_limits.h"
#include "base/clock.h"
#include "control/access/authenticator.h"
#include "control/control_plane.h"
#include "control/outbox.h"
#include "control/rollout/rollout_controller.h"
#include "control/switch_controller.h"
#include "doors/http/headers/rate_limit_headers.h"
#include "policy/snapshot/catalog.h"

namespace sluice::admin {

// What all loops share. Thread-safe; outlives the loops.
struct AdminParts {
  control::ControlPlane& plane;
  PolicyCatalog& catalog;
  const control::KnownCallers& known_callers;
  const Clock& clock;
  control::SwitchController& switch_controller;
  SelfLimits& self_limits;
  doors::HeaderDialects dialects;
  control::RolloutController& rollouts;
  const std::vector<control::RolloutStage>* staged = nullptr;  // as in AdminContext
  control::Outbox* outbox = nullptr;  // holds records that answers wait for; null: answers do not wait
};

}  // namespace sluice::admin
