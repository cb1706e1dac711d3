#pragma once

#include <string>

#include "base/error.h"
#include "policy/model.h"

// What the handlers of users share.
namespace sluice::admin {

// Whether each user has their own counter in this limit.
bool counts_users(const Limit& limit);

// kInvalidArgument, naming user_id: not a valid user id.
Result<void> check_user_id(const std::string& id);

}  // namespace sluice::admin
