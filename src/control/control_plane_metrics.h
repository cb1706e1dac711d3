#pragma once

#include <string>

#include "control/control_plane.h"

namespace sluice::control {

// The control plane's metrics in Prometheus' text format.
std::string control_plane_metrics(const ControlPlaneStatus& status);
// Metrics of the big red switch, and of records that wait for the database.
std::string switch_metrics(bool is_open, std::size_t records_waiting);

}  // namespace sluice::control
