#include "ledger/redis/redis_script.h"

namespace sluice::ledger {

std::string_view redis_ledger_script() {
  return R"lua(
local ledger, documents = KEYS[1], KEYS[2]
local next_word = 2

local function take()
  next_word = next_word + 1
  return ARGV[next_word - 1]
end

-- Lua limits the number of arguments of one call.
local function write(command, key, words)
  local after = next_word + words
  while next_word < after do
    local until_word = math.min(next_word + 1000, after)
    redis.call(command, key, unpack(ARGV, next_word, until_word - 1))
    next_word = until_word
  end
end

-- Whether the set has as many documents as it should: a server that is short of memory evicts whole keys.
local function is_whole()
  local should, there = redis.call('HGET', ledger, 'documents'), redis.call('ZCARD', documents)
  if should then return there >= tonumber(should) end
  return there == 0 or redis.call('HGET', ledger, 'head') ~= false
end

-- Removes a request id if all its records were removed.
local function forget_if_empty(request)
  local first, count = string.match(redis.call('HGET', ledger, request) or '', '^(%d+) (%d+)$')
  if not first then return end
  for revision = tonumber(first), tonumber(first) + tonumber(count) - 1 do
    if redis.call('HGET', ledger, string.format('r%.0f', revision)) then return end
  end
  redis.call('HDEL', ledger, request)
end

local functions = {}

function functions.append()
  local expected, document_count = take(), tonumber(take())
  local removed_count, request_count = tonumber(take()), tonumber(take())
  if (redis.call('HGET', ledger, 'head') or '') ~= expected then return 0 end
  if not is_whole() then return -1 end
  -- An error in the middle would leave half of the change behind. Everything that can fail fails here, or at
  -- the first HSET: a missing permission, a key of another type, no memory left.
  redis.call('ZADD', documents, 'XX', 0, '')
  if removed_count > 0 then redis.call('HDEL', ledger, '') end
  local lists = next_word
  next_word = lists + 2 * document_count + removed_count + request_count
  write('HSET', ledger, #ARGV - next_word + 1)
  next_word = lists
  write('ZADD', documents, 2 * document_count)
  write('HDEL', ledger, removed_count)
  for _ = 1, request_count do forget_if_empty(take()) end
  redis.call('HSET', ledger, 'documents', redis.call('ZCARD', documents))
  -- A user without the right to publish may still write: other nodes poll.
  redis.pcall('PUBLISH', ledger, ARGV[#ARGV])
  return 1
end

function functions.look()
  return {redis.call('HGET', ledger, 'head') or '', is_whole() and 1 or 0}
end

function functions.restore()
  while next_word <= #ARGV do
    local document = take()
    local newest = redis.call('HGET', ledger, 'n' .. document)
    if newest then redis.call('ZADD', documents, string.match(newest, '%d+$'), document) end
  end
  return is_whole() and 1 or 0
end

function functions.read()
  local bytes_max, found, bytes = tonumber(take()), {}, 0
  while next_word <= #ARGV and bytes < bytes_max do
    local record = redis.call('HGET', ledger, 'r' .. take())
    found[#found + 1] = record
    bytes = bytes + (record and #record or 0)
  end
  return found
end

return functions[ARGV[1]]()
)lua";
}

}  // namespace sluice::ledger
