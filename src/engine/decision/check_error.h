#pragma once

#include "base/error.h"
#include "engine/decision/decision.h"
#include "telemetry/check_meter.h"

namespace sluice {

// What metrics call the reason of a decision.
inline CheckError check_error(const Decision& decision) {
  switch (decision.reason) {
    case Reason::kOk:
    case Reason::kLimited:
    case Reason::kTooLarge:
    case Reason::kNoPolicy:
    case Reason::kNoLimit:
    case Reason::kShadow:
      return CheckError::kNone;
    case Reason::kStoreUnavailable:
      return CheckError::kStoreUnavailable;
    case Reason::kStoreFull:
      return CheckError::kStoreFull;
    case Reason::kSwitch:
      return CheckError::kSwitch;
    case Reason::kTenantMoving:
      return CheckError::kTenantMoving;
    case Reason::kPoliciesUnknown:
      return CheckError::kPoliciesUnavailable;
  }
  return CheckError::kOther;
}

// … and of a check that was not decided.
inline CheckError check_error(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return CheckError::kInvalid;
    case ErrorCode::kPolicyNotFound:
    case ErrorCode::kNotFound:
      return CheckError::kNotFound;
    case ErrorCode::kConflict:
    case ErrorCode::kFailedPrecondition:
      return CheckError::kConflict;
    case ErrorCode::kUnavailable:
      return CheckError::kStoreUnavailable;
    case ErrorCode::kOverloaded:
      return CheckError::kOverloaded;
    default:
      return CheckError::kOther;
  }
}

}  // namespace sluice
