#include "net/socket/host_lookup.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <unistd.h>

namespace sluice::net {
namespace {

bool find_in_time(HostLookup& lookup, const std::string& host, SocketAddress& found, std::string& why) {
  for (int i = 0; i < 500; ++i) {
    if (lookup.find(host, 6379, found, why)) return true;
    usleep(10'000);
  }
  return false;
}

TEST(HostLookup, KnowsAddressesAtOnce) {
  HostLookup lookup;
  SocketAddress found;
  std::string why;
  ASSERT_TRUE(lookup.find("127.0.0.1", 6379, found, why));
  EXPECT_EQ(found.bytes.ss_family, AF_INET);
  EXPECT_EQ(ntohs(reinterpret_cast<const sockaddr_in&>(found.bytes).sin_port), 6379);
  ASSERT_TRUE(lookup.find("::1", 6379, found, why));
  EXPECT_EQ(found.bytes.ss_family, AF_INET6);
}

TEST(HostLookup, KnowsNamesALittleLater) {
  HostLookup lookup;
  SocketAddress found;
  std::string why;
  EXPECT_FALSE(lookup.find("localhost", 6379, found, why));
  EXPECT_EQ(why, "resolving its address");
  EXPECT_TRUE(find_in_time(lookup, "localhost", found, why));
}

TEST(HostLookup, SaysWhenThereIsNoSuchHost) {
  HostLookup lookup;
  SocketAddress found;
  std::string why;
  for (int i = 0; i < 500 && !why.starts_with("cannot resolve its address: "); ++i) {
    EXPECT_FALSE(lookup.find("no such host", 6379, found, why));
    usleep(10'000);
  }
  EXPECT_THAT(why, testing::StartsWith("cannot resolve its address: "));
}

}  // namespace
}  // namespace sluice::net
