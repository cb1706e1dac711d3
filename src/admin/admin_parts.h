#pragma once

#include "admin/self_limits.h"
#include "base/clock.h"
#include "control/access.h"
#include "control/control_plane.h"
#include "control/outbox.h"
#include "control/rollout_pilot.h"
#include "control/switch_desk.h"
#include "doors/rate_limit_headers.h"
#include "policy/catalog.h"

namespace sluice::admin {

// What all loops share; outlives them. Thread-safe.
struct AdminParts {
  control::ControlPlane& plane;
  PolicyCatalog& catalog;
  const control::Access& access;
  const Clock& clock;
  control::SwitchDesk& switch_desk;
  SelfLimits& self_limits;
  doors::HeaderDialects dialects;
  control::RolloutPilot& rollouts;
  const std::vector<control::RolloutStage>* staged = nullptr;  // as AdminContext has it
  control::Outbox* outbox = nullptr;  // of records that answers wait for; null: they wait for none
};

}  // namespace sluice::admin
