#pragma once

#include <string>

#include "control/control_plane.h"

namespace sluice::control {

// The control plane's metrics in Prometheus' text format.
std::string plane_metrics(const PlaneStatus& status);

}  // namespace sluice::control
