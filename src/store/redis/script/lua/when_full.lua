-- Stands between decide.lua and writes.lua when the server has said that it has no memory left (maxmemory with noeviction):
-- everything is decided, nothing is written yet. What takes the place of something of about the same size may be written.
-- If anything else would have to be, the call fails as a whole, with the numbers of the keys:
--
--   STOREFULL 3 5;7;9      counters 3 and 5 would be new, 7 is a log that would grow, and request id 9 would be new
--
-- With ARGV[4] there is one check in the call. If it is denied, it writes nothing at all: that it is denied does not
-- depend on what there is memory for.
if ARGV[4] and reply[counter_keys + 2] == 0 then return reply end

local new_counters, longer_logs, new_ids = {}, {}, {}
for index = 1, counter_keys do
  local value, before = values[index], reply[index + 1]
  if value and not before then
    new_counters[#new_counters + 1] = index
  elseif value and #value > #before and string.byte(value) >= LOG and string.byte(value) <= LOG + 1 then
    longer_logs[#longer_logs + 1] = index
  end
end
for _, record in ipairs(general and general.new_records or {}) do
  if record.ttl_ms then new_ids[#new_ids + 1] = record.key end
end
if #new_counters + #longer_logs + #new_ids > 0 then
  return redis.error_reply('STOREFULL ' .. table.concat(new_counters, ' ') .. ';' .. table.concat(longer_logs, ' ') .. ';' ..
    table.concat(new_ids, ' '))
end

-- A server that is full lets a script write that has written already, since it could not be stopped half-way. So the first
-- thing is to delete a key that is nobody's. A node that is about to give the slot away does not know whether that key is
-- its own, and says so; to have tried is enough.
redis.pcall('DEL', KEYS[1] .. '!')
