-- The one script that touches keys: reads the counters of many checks, decides the checks in order, writes each
-- counter once, and answers. README.md describes the call.
--
-- Nothing is written before everything is decided, so a call that fails leaves no half of itself behind. What every call
-- does stands here in one row, without functions: in Redis the script starts from nothing every time, and making
-- functions is what costs. The rest is made when it is needed.

local call, pack, unpack_bytes, byte = redis.call, struct.pack, struct.unpack, string.byte
local KEYS_PER_COMMAND = 1000  -- Lua passes at most some 8000 arguments

-- The store's clock decides. Tests may pass another time; keys then expire as if it were now.
local time = call('TIME')
local real_now_us = time[1] * 1000000 + time[2]
local now_us = ARGV[3] and tonumber(ARGV[3]) or real_now_us

-- What the keys hold, as of the check at hand; false for an absent key, and for one of another type.
local values
if #KEYS <= KEYS_PER_COMMAND then
  values = call('MGET', unpack(KEYS))
else
  values = {}
  for start = 1, #KEYS, KEYS_PER_COMMAND do
    local part = call('MGET', unpack(KEYS, start, math.min(start + KEYS_PER_COMMAND - 1, #KEYS)))
    for i = 1, #part do values[start + i - 1] = part[i] end
  end
end

-- By the index of the key: when a value that has changed is as good as none.
local fresh_us = {}

local checks = ARGV[2]
local counter_keys, position = unpack_bytes('>I2', checks)
local reply, size, records = {now_us}, 1 + counter_keys, {}
for key = 1, counter_keys do reply[key + 1] = values[key] end

local limits, limit_at = {}, limit_reader(ARGV[1])
local general  -- for all but the usual; made when first needed

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

  if header == 1 and not limit.is_log then
    -- One entry on a bucket or window. Checks on the same counter follow each other if the client has
    -- put them so, and it is unpacked and packed once for all of them.
    local at, first, second, warned = 0, 0, 0, false
    local value = values[key]
    if value then
      if #value == 12 and byte(value) % 128 == limit.tag then
        warned, at, first = unpack_bytes('>BI7I4', value)
        warned = warned >= 128
      else
        general = general or general_checks(now_us, values, fresh_us, limit_at)
        at, first, second, warned = general.load(key, limit)
      end
    end

    local charge, this_key, this_limit, touched = limit.charge, key, limit_index, false
    repeat
      -- The same cost `repeats` times. It is admitted the first so many times: nothing is given back within a call.
      local admitted = 0
      if cost == 0 then
        if limit.capacity > 0 then admitted = repeats end
      else
        touched = true
        for _ = 1, repeats do
          local allowed, new_at, new_first, new_second =
            charge(limit, at, first, second, now_us, cost, count_denied == 1)
          local same = new_at == at and new_first == first and new_second == second
          at, first, second = new_at, new_first, new_second
          -- A full bucket is forgotten, and a leaky bucket's denied cost with it.
          if at == 0 and first == 0 then second = 0 end
          if at - now_us < limit.calm_us then
            warned = false
          else
            warned = limit.warns(limit, warned, at, first, second, now_us)
          end
          if allowed then
            admitted = admitted + 1
          elseif same then
            break  -- the rest will be denied as well, and leave no trace either
          end
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
      local tag = limit.tag
      if warned then tag = tag + 128 end
      if second > 0 then
        values[this_key] = pack('>BI7I4I4', tag, at, first, second)
      elseif at > 0 or first > 0 then
        values[this_key] = pack('>BI7I4', tag, at, first)
      else
        values[this_key] = false
      end
      fresh_us[this_key] = limit.fresh_at_us(limit, at, first)
    end
  else
    general = general or general_checks(now_us, values, fresh_us, limit_at)
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

-- What has changed. One MSET and the expiries come cheaper than as many SETs with PXAT.
local set, moments, deleted, count = {}, {}, {}, 0
local expiries, to_real_us, real_now_ms = {}, real_now_us - now_us, real_now_us / 1000
local ceil, frexp = math.ceil, math.frexp
for key = 1, counter_keys do
  local value = values[key]
  if value ~= reply[key + 1] then
    if not value then
      deleted[#deleted + 1] = KEYS[key]
    else
      -- Rounded up by an eighth of the way at most, so that the keys of a batch share few texts, which are
      -- expensive to make. Being late is harmless: the state itself says that it is as good as new.
      local ms = ceil((fresh_us[key] + to_real_us) / 1000)
      local _, exponent = frexp(ms - real_now_ms)
      if exponent > 4 then
        local grain = 2 ^ (exponent - 4)
        ms = ceil(ms / grain) * grain
      end
      local text = expiries[ms]
      if not text then
        text = string.format('%.0f', ms)
        expiries[ms] = text
      end
      count = count + 1
      set[2 * count - 1], set[2 * count], moments[count] = KEYS[key], value, text
    end
  end
end

for start = 1, #deleted, KEYS_PER_COMMAND do
  call('DEL', unpack(deleted, start, math.min(start + KEYS_PER_COMMAND - 1, #deleted)))
end
for start = 1, 2 * count, 2 * KEYS_PER_COMMAND do
  call('MSET', unpack(set, start, math.min(start + 2 * KEYS_PER_COMMAND - 1, 2 * count)))
end
for i = 1, count do call('PEXPIREAT', set[2 * i - 1], moments[i]) end
if general then general.write_records() end
return reply
