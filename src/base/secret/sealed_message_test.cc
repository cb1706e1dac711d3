#include "base/secret/sealed_message.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

MessageKey key_of(char c) {
  MessageKey key{};
  key.fill(static_cast<unsigned char>(c));
  return key;
}

TEST(SealedMessage, OpensWithItsKeyAndItsContextOnly) {
  for (const std::string& message : {std::string(), std::string("7 denials"), std::string(100'000, 'x')}) {
    const std::string sealed = seal_message(key_of('a'), "answer:42", message);
    EXPECT_EQ(sealed.size(), message.size() + kSealBytes);
    EXPECT_EQ(open_message(key_of('a'), "answer:42", sealed), message);
    EXPECT_EQ(open_message(key_of('b'), "answer:42", sealed), std::nullopt);
    EXPECT_EQ(open_message(key_of('a'), "answer:43", sealed), std::nullopt);
  }
}

TEST(SealedMessage, EveryChangedByteIsNoticed) {
  const std::string sealed = seal_message(key_of('a'), "", "7 denials");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(open_message(key_of('a'), "", changed), std::nullopt) << i;
    EXPECT_EQ(open_message(key_of('a'), "", sealed.substr(0, i)), std::nullopt) << i;
  }
  EXPECT_EQ(open_message(key_of('a'), "", sealed + "x"), std::nullopt);
}

TEST(SealedMessage, ItsTextIsNotInItAndTheSameTextIsNeverSealedAlike) {
  const std::string sealed = seal_message(key_of('a'), "", "the key of user bob");
  EXPECT_EQ(sealed.find("bob"), std::string::npos);
  EXPECT_NE(sealed, seal_message(key_of('a'), "", "the key of user bob"));
}

}  // namespace
}  // namespace sluice
