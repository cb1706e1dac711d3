#include "redis/connection/auth.h"

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

constexpr const char* kRefused = "it rejects our AUTH; check that this user exists and has a password";

Address with(std::string user, std::string password) {
  Address address;
  address.user = std::move(user);
  address.password = std::move(password);
  return address;
}

TEST(Auth, NoWordOfARefusalIsTheServers) {
  const Address address = with("ann", "SECRET");
  const std::string err = std::string("ERR: ") + kRefused;
  const struct {
    const char* reply;
    std::string told;
  } cases[] = {
      {"WRONGPASS invalid username-password pair or user is disabled.",
       "WRONGPASS: the user or password is wrong"},
      {"ERR unknown command, args: AUTH ann SECRET CLIENT SETNAME", err},
      {"ERR unknown command `AUTH`, with args beginning with: `ann`, `SECR", err},
      {"ERR AUTH <password> called without any password configured for the default user.", err},
      {"SECRET is not known here", kRefused},
      {"ann is not known here", kRefused},
      {"", kRefused},
  };
  for (const auto& c : cases) EXPECT_EQ(refused_auth(c.reply, address), c.told) << c.reply;
}

TEST(Auth, OtherTextsAreShownUnlessTheyRepeatASecret) {
  const Address address = with("ann", "hush");
  EXPECT_EQ(without_secrets("ERR DB index is out of range", address), "ERR DB index is out of range");
  for (const char* reply : {"ERR unknown command, args: AUTH ann", "ERR hush", "hush"}) {
    const std::string told = without_secrets(reply, address);
    EXPECT_FALSE(told.contains("ann") || told.contains("hush")) << told;
  }
  EXPECT_EQ(without_secrets("NOAUTH Authentication required.", with("", "")),
            "NOAUTH Authentication required.");
}

}  // namespace
}  // namespace sluice::redis
