-- The one script that touches keys: reads the counters of many checks, decides the checks in order and, in writes.lua, writes
-- each counter once, and answers. README.md describes the call.
--
-- Nothing is written before everything is decided, so a call that fails leaves nothing half done. The code that every
-- call runs is here, in line and without functions: in Redis the script starts from scratch every time, and making
-- functions is expensive. The rest is made when it is needed.

local call, pack, unpack_bytes, sub = redis.call, struct.pack, struct.unpack, string.sub
local floor = math.floor
local KEYS_MAX = 4000  -- of one command; Lua passes at most some 8000 arguments
local HEEDS_MOVES = 32768  -- added to the number of counters: the last key says which tenants are moving

-- The store's clock decides. Tests may pass another time; keys then expire as if it were now.
local time = call('TIME')
local real_now_us = time[1] * 1000000 + time[2]
local now_us = ARGV[3] and tonumber(ARGV[3]) or real_now_us

-- The content of the keys, up to the current check; false for an absent key, and for one of another type.
local values
if #KEYS <= KEYS_MAX then
  values = call('MGET', unpack(KEYS))
else
  values = {}
  for start = 1, #KEYS, KEYS_MAX do
    local part = call('MGET', unpack(KEYS, start, math.min(start + KEYS_MAX - 1, #KEYS)))
    for i = 1, #part do values[start + i - 1] = part[i] end
  end
end

-- By the index of the key: when a changed value will be as good as none.
local fresh_us = {}

local checks = ARGV[2]
local counter_keys, position = unpack_bytes('>I2', checks)
local journals
if counter_keys >= HEEDS_MOVES then
  counter_keys = counter_keys - HEEDS_MOVES
  if call('EXISTS', KEYS[#KEYS]) == 1 then
    local refused
    refused, journals = keys_on_the_move(real_now_us)
    if refused then return redis.error_reply('TENANTMOVING ' .. refused) end
  end
end
local reply, size, records = {now_us}, 1 + counter_keys, {}
for index = 1, counter_keys do reply[index + 1] = values[index] end

local limits, limit_at, limit_in = {}, limit_reader(ARGV[1])
local general  -- for all cases but the usual one; made when first needed

local checks_end = #checks
local header, repeats, key, limit_index, count_denied, cost, after
if position <= checks_end then
  header, repeats, key, limit_index, count_denied, cost, after = unpack_bytes('>BI2I2I2BI4', checks, position)
end
while header do
  local limit = limits[limit_index]
  if not limit then
    limit = limit_at(limit_index)
    limits[limit_index] = limit
  end

  local value = values[key]
  if header == 1 and not limit.is_log and
    (not value or sub(value, 1, limit.stamp_bytes) == limit.stamp and
      (#value - limit.stamp_bytes == limit.state_bytes or #value - limit.stamp_bytes == limit.state_bytes + 4)) then
    -- One entry on a bucket or window that is kept under these numbers. Checks on the same counter follow each
    -- other if the client has sorted them so, and the counter is unpacked and packed once for all of them.
    local at, first, second, warned = 0, 0, 0, false
    if value then
      local rest
      at, first, rest = unpack_bytes(limit.form, value, limit.stamp_bytes + 1)
      if at >= WARNED then
        local high, low = unpack_bytes('>BI6', value, limit.stamp_bytes + 1)
        at, warned = high % WARNED_BYTE * BYTE_OF_AT + low, high >= WARNED_BYTE
      end
      if rest <= #value then second = unpack_bytes('>I4', value, rest) end
    end

    local charge, this_key, this_limit, touched = limit.charge, key, limit_index, false
    -- Within a call a counter only fills up. So several admitted charges are the same as one of their sum, except
    -- that the first may end a warning.
    local may_calm = warned
    repeat
      -- The same cost `repeats` times. Only the first ones can be admitted: as many as possible are tried at once.
      local admitted = 0
      if cost == 0 then
        if charge(limit, at, first, second, now_us, 0, count_denied == 1) then admitted = repeats end
        repeats = 0
      end
      local step = may_calm and 1 or repeats
      while repeats > 0 do
        local allowed, new_at, new_first, new_second =
          charge(limit, at, first, second, now_us, cost * step, count_denied == 1)
        if allowed or step == 1 then
          local same = new_at == at and new_first == first and new_second == second
          at, first, second = new_at, new_first, new_second
          if at - now_us < limit.calm_us then
            warned = false
          else
            warned = limit.warns(limit, warned, at, first, second, now_us)
          end
          touched = true
          repeats = repeats - step
          if allowed then
            admitted = admitted + step
          elseif same then
            break  -- the rest will be denied as well, and change nothing either
          end
          if may_calm or step > repeats then step = repeats end
          may_calm = false
        else
          step = floor(step / 2)
        end
      end
      size = size + 1
      reply[size] = admitted
      position = after
      if position > checks_end then
        header = nil
        break
      end
      header, repeats, key, limit_index, count_denied, cost, after = unpack_bytes('>BI2I2I2BI4', checks, position)
    until key ~= this_key or header ~= 1 or limit_index ~= this_limit

    if touched then
      fresh_us[this_key] = limit.fresh_at_us(limit, at, first, second)
      local state = pack(limit.form, at, first)
      if warned then state = string.char(string.byte(state) + WARNED_BYTE) .. sub(state, 2) end
      if second > 0 then
        values[this_key] = limit.stamp .. state .. pack('>I4', second)
      elseif at > 0 or first > 0 then
        values[this_key] = limit.stamp .. state
      else
        values[this_key] = false
      end
    end
  else
    general = general or general_checks(now_us, values, fresh_us, limit_at, limit_in)
    local verdict, record, next_position = general.decide(position, header, repeats)
    size = size + 1
    reply[size] = verdict
    if record ~= nil then records[#records + 1] = record end
    position, header = next_position, nil
    if position <= checks_end then
      header, repeats, key, limit_index, count_denied, cost, after = unpack_bytes('>BI2I2I2BI4', checks, position)
    end
  end
end
for i = 1, #records do reply[size + i] = records[i] end
