// Ten lines that protect a function: the fourth call of the day is refused.
#include <sluice/open.h>

#include <cstdio>

int make_report(const char* user) { return std::printf("a report for %s\n", user); }

int main() {
  const auto opened = sluice::open_memory({.policies = {.file = "policies.yaml"}});
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error.c_str()), 1;
  for (int call = 1; call <= 4; ++call) {
    const sluice::Answer answer = opened.limiter->check({.key = "ann", .resource = "/reports"});
    if (answer.allowed)
      make_report("ann");
    else
      std::printf("refused: all %ld reports of today are used\n", static_cast<long>(answer.limit));
  }
}
