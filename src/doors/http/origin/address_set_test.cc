#include "doors/http/origin/address_set.h"

#include <gtest/gtest.h>

namespace sluice::doors {
namespace {

TEST(IpAddress, HasOneFormForEachAddress) {
  struct Row {
    std::string_view text;
    std::string_view form;
  };
  for (const Row& row : {Row{"192.0.2.1", "192.0.2.1"},
                         {"::ffff:192.0.2.1", "192.0.2.1"},
                         {"2001:DB8:0:0::1", "2001:db8::1"},
                         {"::1", "::1"}}) {
    const auto address = IpAddress::parse(row.text);
    ASSERT_TRUE(address) << row.text;
    EXPECT_EQ(address->to_string(), row.form);
  }
}

TEST(IpAddress, TheSiteIsWhatOneOwnerHas) {
  EXPECT_EQ(IpAddress::parse("192.0.2.1")->site().to_string(), "192.0.2.1");
  EXPECT_EQ(IpAddress::parse("2001:db8:1:2:3:4:5:6")->site().to_string(), "2001:db8:1:2::");
}

TEST(IpAddress, RefusesEverythingElse) {
  for (const std::string_view text :
       {"", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "1.2.3.4:80", "[::1]", "::1%lo", "host", "01.2.3.4 "})
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  EXPECT_FALSE(IpAddress::parse(std::string(1000, '1')));
}

TEST(AddressSet, ContainsWhatItsNetworksSpan) {
  const auto set = AddressSet::parse("10.0.0.0/8, 192.0.2.7 fd00::/8,::1");
  ASSERT_TRUE(set);
  for (const std::string_view inside :
       {"10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "192.0.2.7", "fd12::1", "::1"})
    EXPECT_TRUE(set->contains(inside)) << inside;
  for (const std::string_view outside :
       {"9.255.255.255", "11.0.0.0", "192.0.2.8", "fe00::1", "::2", "garbage", ""})
    EXPECT_FALSE(set->contains(outside)) << outside;
}

TEST(AddressSet, KnowsTheEdges) {
  EXPECT_TRUE(AddressSet::parse("0.0.0.0/0")->contains("203.0.113.9"));
  EXPECT_FALSE(AddressSet::parse("0.0.0.0/0")->contains("2001:db8::1"));
  EXPECT_TRUE(AddressSet::parse("::/0")->contains("203.0.113.9"));
  EXPECT_TRUE(AddressSet::parse("10.1.2.3/32")->contains("10.1.2.3"));
  EXPECT_FALSE(AddressSet::parse("")->contains("127.0.0.1"));
  EXPECT_TRUE(AddressSet::loopback().contains("127.8.9.1"));
  EXPECT_TRUE(AddressSet::loopback().contains("::1"));
}

TEST(AddressSet, NamesWhatItCannotRead) {
  for (const std::string_view item :
       {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8x", "::/129", "localhost", "10.0.0.1/8"}) {
    const auto set = AddressSet::parse(std::string("127.0.0.1,") + std::string(item));
    ASSERT_FALSE(set) << item;
    EXPECT_NE(set.error().message.find("\"" + std::string(item) + "\""), std::string::npos)
        << set.error().message;
  }
}

}  // namespace
}  // namespace sluice::doors
