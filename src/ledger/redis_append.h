#pragma once

#include "ledger/redis_book.h"

namespace sluice::ledger {

// What the field of a request id says, the first revision of the change and how many there are, as records.
Result<std::vector<Record>> read_change(RedisBook& book, const RedisNumbers& first_and_count);

// Ledger::append in Redis: reads, links the records to the head, and has the script write them if the head is
// still the same; otherwise all over again. When the connection is lost on the way, it finds out by the next
// one whether the change was written, and never writes it twice. REQUIRES: the change is valid.
Result<std::vector<Record>> append_to(RedisBook& book, const Change& change, std::span<const Record> removed);

}  // namespace sluice::ledger
