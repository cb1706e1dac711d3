#pragma once

#include "ledger/redis_book.h"

namespace sluice::ledger {

// Ledger::append in Redis: reads, links the records to the head, and has the script write them if the head is
// still the same; otherwise all over again. When the connection is lost on the way, it finds out by the next
// one whether the change was written, and never writes it twice. REQUIRES: the change is valid.
Result<std::vector<Record>> append_to(RedisBook& book, const Change& change);

}  // namespace sluice::ledger
