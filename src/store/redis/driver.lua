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

-- What the keys hold; false for an absent key, and for one of another type.
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

-- By the index of the key. `held`: the limit whose numbers the state is under, nil while nobody has asked for it.
-- A counter has `ats`, `firsts` and `seconds`, or an entry in `logs`. `touched`: by more than looks.
local held, ats, firsts, seconds, warned, touched = {}, {}, {}, {}, {}, {}
local batch = {
  now_us = now_us, values = values, held = held, ats = ats, firsts = firsts, seconds = seconds, warned = warned,
  touched = touched, logs = {}, changed_logs = {}, new_records = {},
}

-- Whether a counter warns after a charge, given whether it did before.
local function warns(limit, warned_before, at, first, second, now)
  if limit.calm_us then  -- a bucket
    local us = at - now
    if us < limit.calm_us then return false end
    if us > limit.warns_us or (us == limit.warns_us and first > limit.warns_fraction) then return true end
    return warned_before and (us > limit.calm_us or first > limit.calm_fraction)
  end
  local units = math.min(limit.steps.units_used(limit, at, first, second, now), limit.capacity)
  return units > (warned_before and limit.calm_at_most or limit.warns_above)
end

local limit_at = limit_reader(ARGV[1])
local load, decide  -- made when first needed
local limits = {}

local checks = ARGV[2]
local counter_keys, position = unpack_bytes('>I2', checks)
local reply, size, records = {now_us}, 1, {}
local checks_end = #checks
while position <= checks_end do
  local header, repeats, key, limit_index, count_denied, cost, after = unpack_bytes('>BI2I2I2BI4', checks, position)
  local limit = limits[limit_index]
  if not limit then
    limit = limit_at(limit_index)
    limits[limit_index] = limit
  end
  size = size + 1
  if header == 1 and not limit.is_log then
    position = after

    local at, first, second, warning
    local value = values[key]
    if held[key] then
      if held[key] ~= limit then
        load = load or counter_loader(batch, limit_at)
        load(key, limit)
      end
      at, first, second, warning = ats[key], firsts[key], seconds[key], warned[key]
    elseif not value then
      at, first, second, warning = 0, 0, 0, false
    elseif #value == 12 and byte(value) % 128 == limit.tag then
      warning, at, first = unpack_bytes('>BI7I4', value)
      warning, second = warning >= 128, 0
    else
      load = load or counter_loader(batch, limit_at)
      load(key, limit)
      at, first, second, warning = ats[key], firsts[key], seconds[key], warned[key]
    end

    -- The same cost `repeats` times. It is admitted the first so many times: nothing is given back within a call.
    local admitted, charge = 0, limit.charge
    if cost == 0 then
      if limit.capacity > 0 then admitted = repeats end
    else
      count_denied = count_denied == 1
      for _ = 1, repeats do
        local allowed, new_at, new_first, new_second = charge(limit, at, first, second, now_us, cost, count_denied)
        local same = new_at == at and new_first == first and new_second == second
        at, first, second = new_at, new_first, new_second
        -- A full bucket is forgotten, and a leaky bucket's denied cost with it.
        if at == 0 and first == 0 then second = 0 end
        warning = warns(limit, warning, at, first, second, now_us)
        if allowed then
          admitted = admitted + 1
        elseif same then
          break  -- the rest will be denied as well, and leave no trace either
        end
      end
      touched[key] = true
      held[key], ats[key], firsts[key], seconds[key], warned[key] = limit, at, first, second, warning
    end
    reply[size] = admitted
  else
    load = load or counter_loader(batch, limit_at)
    decide = decide or entry_checks(batch, limit_at, load, warns)
    local record
    reply[size], record, position = decide(position, header, repeats)
    if record ~= nil then records[#records + 1] = record end
  end
end

for key = 1, counter_keys do reply[size + key] = values[key] end
for i = 1, #records do reply[size + counter_keys + i] = records[i] end

-- What has changed. One MSET and the expiries come cheaper than as many SETs with PXAT.
local set, moments, deleted, count = {}, {}, {}, 0
local expiries, log_codec = {}, nil
for key = 1, counter_keys do
  if touched[key] then
    local limit, log, old_value = held[key], batch.logs[key], values[key]
    local tag, value, fresh_us = warned[key] and limit.tag + 128 or limit.tag, nil, nil
    if log then
      if not batch.changed_logs[key] then
        value = old_value
      elseif #log > 0 then
        log_codec = log_codec or log_values()
        value, fresh_us = log_codec.pack(tag, log), log[#log - 1] + limit.period_us
      end
    else
      local at, first, second = ats[key], firsts[key], seconds[key]
      if second > 0 then
        value = pack('>BI7I4I4', tag, at, first, second)
      elseif at > 0 or first > 0 then
        value = pack('>BI7I4', tag, at, first)
      end
      if value then fresh_us = limit.steps.fresh_at_us(limit, at, first, second) end
    end
    if not value then
      if old_value then deleted[#deleted + 1] = KEYS[key] end
    elseif value ~= old_value then
      -- Rounded up by an eighth of the way at most, so that the keys of a batch share few texts, which are
      -- expensive to make. Being late is harmless: the state itself says that it is as good as new.
      local ms = math.ceil((fresh_us - now_us + real_now_us) / 1000)
      local _, exponent = math.frexp(ms - real_now_us / 1000)
      if exponent > 4 then
        local grain = 2 ^ (exponent - 4)
        ms = math.ceil(ms / grain) * grain
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
for i = 1, #batch.new_records do
  local key, record, ttl_ms = unpack(batch.new_records[i])
  call('SET', KEYS[key], record, 'PX', string.format('%.0f', ttl_ms))
end
return reply
