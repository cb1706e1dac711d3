-- The counters that one call uses: read together before the first decision, held under the numbers their limits have
-- now, written together after the last.

local call = redis.call
local KEYS_PER_COMMAND = 1000  -- Lua passes at most some 8000 arguments

-- The store's clock decides. Tests may pass another time; keys then expire as if it were now.
local time = call('TIME')
local real_now_us = time[1] * 1000000 + time[2]
local now_us = tonumber(ARGV[3]) or real_now_us

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

-- By the index of the key. `held`: the limit whose numbers the state is under, nil while it has not been asked for.
-- A counter has `ats`, `firsts` and `seconds`, or an entry in `logs`.
local held, ats, firsts, seconds, warned = {}, {}, {}, {}, {}
local logs, changed_logs = {}, {}
local touched = {}  -- asked for by more than looks: to be written if changed

local limits = {}
local function limit_at(index)
  local limit = limits[index]
  if not limit then
    limit = read_limit(ARGV[1], index)
    limits[index] = limit
  end
  return limit
end

local function log_units_used(limit, log)
  sliding_log_settle(limit, log, now_us)
  return limit.capacity - sliding_log_explain(limit, log, now_us, 0, true)
end

-- Brings a counter under other numbers. A log and the others do not understand each other's state; what they share
-- is the number of units in use.
local function move(key, from, to)
  local log = logs[key]
  if log and to.algorithm ~= SLIDING_LOG then
    logs[key] = nil
    local units = math.min(log_units_used(from, log), to.capacity)
    ats[key], firsts[key], seconds[key] = with_units_used(to, units, now_us)
  elseif to.algorithm == SLIDING_LOG then
    changed_logs[key] = true
    if log then return end  -- what happened when is all it knows, whatever the limit
    local units = math.min(units_used(from, ats[key], firsts[key], seconds[key], now_us), to.capacity)
    logs[key] = units > 0 and {now_us, units} or {}
  else
    ats[key], firsts[key], seconds[key] = migrate(from, to, ats[key], firsts[key], seconds[key], now_us)
  end
end

-- The numbers a value was written under, as far as the call knows them; else those of `limit`, which
-- will make of it what they can.
local function written_under(tag, limit)
  local candidate = limit
  while candidate.tag ~= tag do
    if candidate.previous == 0 then return limit end
    candidate = limit_at(candidate.previous)
  end
  return candidate
end

-- Reads the key's value. Returns the limit under which it is held then, or nil when there is nothing to be read:
-- no value, or no counter of that kind.
local function read_value(key, limit)
  local value = values[key]
  if not value or value == '' then return nil end
  local tag = string.byte(value) % 128
  if tag ~= limit.tag then limit = written_under(tag, limit) end
  if limit.algorithm == SLIDING_LOG then
    tag, warned[key], logs[key] = unpack_log(value)
  else
    tag, warned[key], ats[key], firsts[key], seconds[key] = unpack_counter(value)
  end
  if tag then return limit end
end

-- Makes sure that the counter is here and under the numbers of `limit`. REQUIRES: held[key] ~= limit.
local function load(key, limit)
  local from = held[key] or read_value(key, limit)
  held[key] = limit
  if from then
    if from ~= limit then move(key, from, limit) end
    return
  end
  warned[key] = false
  if limit.algorithm == SLIDING_LOG then
    logs[key] = {}
  else
    ats[key], firsts[key], seconds[key] = 0, 0, 0
  end
end

-- Whether a counter with this state warns, given whether it did before. `at` is that of a state after a charge.
local function warns(limit, warned_before, at, first, second)
  if limit.calm_us then  -- a bucket: lengths of time tell, and they are cheap to compare
    local us = at - now_us
    if us < limit.calm_us then return false end
    if us > limit.warns_us or (us == limit.warns_us and first > limit.warns_fraction) then return true end
    return warned_before and (us > limit.calm_us or first > limit.calm_fraction)
  end
  local units = math.min(units_used(limit, at, first, second, now_us), limit.capacity)
  return units > (warned_before and limit.calm_at_most or limit.warns_above)
end

local function log_warns(limit, warned_before, log)
  if limit.capacity == 0 then return warned_before end
  local units = math.min(log_units_used(limit, log), limit.capacity)
  return units > (warned_before and limit.calm_at_most or limit.warns_above)
end

-- The value to be kept and when it may go; nil for a counter that is as good as new.
local function value_of(key)
  local limit, log = held[key], logs[key]
  if log then
    local size = #log
    if size == 0 then return nil end
    if not changed_logs[key] then return values[key] end
    return pack_log(limit.tag, warned[key], log), log[size - 1] + limit.period_us
  end
  local at, first, second = ats[key], firsts[key], seconds[key]
  if at == 0 and first == 0 and second == 0 then return nil end
  return pack_counter(limit.tag, warned[key], at, first, second), fresh_at_us(limit, at, first, second)
end

-- Milliseconds as the text that Redis wants. Moments are rounded up so that keys of a batch share few texts, which
-- are expensive to make: by an eighth of the way at most. Being late is harmless, the state says that it is fresh.
local expiries = {}
local function expiry(fresh_us)
  local ms = math.ceil((fresh_us - now_us + real_now_us) / 1000)
  local _, exponent = math.frexp(ms - real_now_us / 1000)
  local grain = exponent > 4 and math.ldexp(1, exponent - 4) or 1
  ms = math.ceil(ms / grain) * grain
  local text = expiries[ms]
  if not text then
    text = string.format('%.0f', ms)
    expiries[ms] = text
  end
  return text
end

local function call_in_parts(command, arguments)
  for start = 1, #arguments, 2 * KEYS_PER_COMMAND do
    call(command, unpack(arguments, start, math.min(start + 2 * KEYS_PER_COMMAND - 1, #arguments)))
  end
end

-- One MSET and the expiries come cheaper than as many SETs with PXAT.
local function write_counters(counter_keys)
  local pairs_set, moments, deleted, count = {}, {}, {}, 0
  for key = 1, counter_keys do
    if touched[key] then
      local value, fresh_us = value_of(key)
      if not value then
        if values[key] then deleted[#deleted + 1] = KEYS[key] end
      elseif value ~= values[key] then
        count = count + 1
        pairs_set[2 * count - 1] = KEYS[key]
        pairs_set[2 * count] = value
        moments[count] = expiry(fresh_us)
      end
    end
  end
  call_in_parts('DEL', deleted)
  call_in_parts('MSET', pairs_set)
  for i = 1, count do call('PEXPIREAT', pairs_set[2 * i - 1], moments[i]) end
end
