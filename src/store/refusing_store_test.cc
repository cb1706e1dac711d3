#include "store/refusing_store.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

class Call final : public StoreCall {
 public:
  void on_done() override { FAIL() << "it answers at once"; }
};

// Calls are used again: what the previous answer said must not be read as a part of this one.
TEST(RefusingStoreTest, TheAnswerBeforeIsForgotten) {
  for (const auto answer : {RefusingStore::Answer::kMoving, RefusingStore::Answer::kSilent}) {
    Call call;
    call.verdict = Verdict::kAllowed;
    call.conflict = call.replayed = true;
    call.results_known = 2;
    EXPECT_TRUE(RefusingStore(answer).start(call));
    EXPECT_EQ(call.verdict, Verdict::kNoAnswer);
    EXPECT_EQ(call.moving, answer == RefusingStore::Answer::kMoving);
    EXPECT_FALSE(call.conflict);
    EXPECT_FALSE(call.replayed);
    EXPECT_EQ(call.results_known, 0u);
  }
}

}  // namespace
}  // namespace sluice
