-- Loading a counter in all the ways that are not the usual one: it is a log, it was written under other numbers, or
-- the value is no counter at all. The usual one, 12 bytes under the same numbers, is in driver.lua.

-- `batch` holds the state of the call's counters by the index of their keys, see driver.lua.
local function counter_loader(batch, limit_at)
  local values, held, warned, logs = batch.values, batch.held, batch.warned, batch.logs
  local ats, firsts, seconds = batch.ats, batch.firsts, batch.seconds
  local now_us = batch.now_us
  local log_codec, migrate

  -- Brings a counter under other numbers. A log and the others do not understand each other's state; what they
  -- share is the number of units in use.
  local function move(key, from, to)
    local log = logs[key]
    if log and to.is_log then
      batch.changed_logs[key] = true  -- what happened when is all it knows, whatever the limit
    elseif log then
      logs[key] = nil
      local units = math.min(from.steps.units_used(from, log, now_us), to.capacity)
      ats[key], firsts[key], seconds[key] = to.steps.with_units_used(to, units, now_us)
    elseif to.is_log then
      batch.changed_logs[key] = true
      local units = from.steps.units_used(from, ats[key], firsts[key], seconds[key], now_us)
      units = math.min(units, to.capacity)
      logs[key] = units > 0 and {now_us, units} or {}
    else
      migrate = migrate or migration()
      ats[key], firsts[key], seconds[key] = migrate(from, to, ats[key], firsts[key], seconds[key], now_us)
    end
  end

  -- The numbers a value was written under, as far as the call knows them; else those of `limit`, which will make of it
  -- what they can.
  local function written_under(tag, limit)
    local candidate = limit
    while candidate.tag ~= tag do
      if candidate.previous == 0 then return limit end
      candidate = limit_at(candidate.previous)
    end
    return candidate
  end

  local function start_fresh(key, limit)
    warned[key] = false
    if limit.is_log then
      logs[key] = {}
    else
      ats[key], firsts[key], seconds[key] = 0, 0, 0
    end
    return limit
  end

  -- Returns the limit whose numbers the state is under.
  local function read_value(key, limit)
    local value = values[key]
    if not value or value == '' then return start_fresh(key, limit) end
    local tag = string.byte(value)
    local from = written_under(tag % 128, limit)
    warned[key] = tag >= 128
    if from.is_log then
      log_codec = log_codec or log_values()
      logs[key] = log_codec.unpack(value)
      if not logs[key] then return start_fresh(key, limit) end
    elseif #value == 12 then
      tag, ats[key], firsts[key] = struct.unpack('>BI7I4', value)
      seconds[key] = 0
    elseif #value == 16 then
      tag, ats[key], firsts[key], seconds[key] = struct.unpack('>BI7I4I4', value)
    else
      return start_fresh(key, limit)
    end
    return from
  end

  -- Afterwards the counter is here and under the numbers of `limit`. REQUIRES: held[key] ~= limit.
  return function(key, limit)
    local from = held[key] or read_value(key, limit)
    held[key] = limit
    if from ~= limit then move(key, from, limit) end
  end
end
