#pragma once

#include "ledger/redis/redis_book.h"

namespace sluice::ledger {

// Reads the records of a change from the value of a request id field: the first revision and the number of
// records.
Result<std::vector<Record>> read_change(RedisBook& book, const RedisNumbers& first_and_count);

// Ledger::append in Redis: reads, links the records to the head, and has the script write them if the head is
// still the same; otherwise starts over. If the connection is lost on the way, it finds out over the next
// connection whether the change was written, and never writes it twice. REQUIRES: the change is valid.
Result<std::vector<Record>> append_to(RedisBook& book, const Change& change, std::span<const Record> removed);

}  // namespace sluice::ledger
