-- Stands before the script when the server has said that it has no memory left (maxmemory with noeviction): counters
-- that are there go on counting, and nothing is made that was not there. Charges of others are refused, as a whole and by
-- the numbers of their keys, before anything is written:
--
--   STOREFULL 3 5;9      counters 3 and 5 are not there, or are logs, which would grow; request id 9 is not there
--
-- A server that is full lets a script write that has written already, since it could not be stopped half-way. What is
-- written here takes the place of what was there, of about the same size. So the first thing is to delete a key that is nobody's.
do
  local LOG, HEEDS_MOVES = 96, 32768  -- see stamps.lua and driver.lua
  local counters = struct.unpack('>I2', ARGV[2])
  local heeds_moves = counters >= HEEDS_MOVES
  if heeds_moves then counters = counters - HEEDS_MOVES end
  local values = redis.call('MGET', unpack(KEYS))
  local absent, unknown_ids = {}, {}
  for i = 1, counters do
    local kind = values[i] and string.byte(values[i])
    if not kind or kind == LOG or kind == LOG + 1 then absent[#absent + 1] = i end
  end
  for i = counters + 1, heeds_moves and #KEYS - 1 or #KEYS do
    if not values[i] then unknown_ids[#unknown_ids + 1] = i end
  end
  if #absent + #unknown_ids > 0 then
    return redis.error_reply('STOREFULL ' .. table.concat(absent, ' ') .. ';' .. table.concat(unknown_ids, ' '))
  end
  redis.call('DEL', KEYS[1] .. '!')
end

