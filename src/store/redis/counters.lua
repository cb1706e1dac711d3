-- Reading counters in all the ways that are not the usual one: a log, a value that was written under other numbers, a value
-- that is no counter at all. (The usual one, 12 bytes under the same numbers, is in driver.lua.)

-- Returns load(key, limit)      →  at, first, second, warned, known    under the numbers of `limit`, which is no log's
--         load_log(key, limit)  →  log, warned, changed, known         the same for a log
-- `known`: the call knows the numbers it was written under.
local function counter_reader(now_us, values, limit_at)
  local log_codec, migrate

  -- The numbers a value was written under, and whether the call knows them; if not, those of `limit`, which will make of
  -- it what they can.
  local function written_under(tag, limit)
    local candidate = limit
    while candidate.tag ~= tag do
      if candidate.previous == 0 then return limit, false end
      candidate = limit_at(candidate.previous)
    end
    return candidate, true
  end

  -- → the limit it was written under, known, warned, and the state: a log, or three numbers. Nothing if it can't be read.
  local function read(key, limit)
    local value = values[key]
    if not value or value == '' then return nil end
    local tag = string.byte(value)
    local from, known = written_under(tag % 128, limit)
    local warned = tag >= 128
    if from.is_log then
      log_codec = log_codec or log_values()
      local log = log_codec.unpack(value)
      if log then return from, known, warned, log end
    elseif #value == 12 or #value == 16 then
      local at, first = struct.unpack('>I7I4', value, 2)
      return from, known, warned, at, first, #value == 16 and struct.unpack('>I4', value, 13) or 0
    end
    return nil
  end

  local function load(key, limit)
    local from, known, warned, at, first, second = read(key, limit)
    if not from then return 0, 0, 0, false, false end
    if from.is_log then
      local units = math.min(from.steps.units_used(from, at, now_us), limit.capacity)
      at, first, second = limit.steps.with_units_used(limit, units, now_us)
    elseif from ~= limit then
      migrate = migrate or migration()
      at, first, second = migrate(from, limit, at, first, second, now_us)
    end
    return at, first, second, warned, known
  end

  local function load_log(key, limit)
    local from, known, warned, at, first, second = read(key, limit)
    if not from then return {}, false, false, false end
    -- What happened when is all a log knows, whatever the limit.
    if from.is_log then return at, warned, from ~= limit, known end
    local units = math.min(from.steps.units_used(from, at, first, second, now_us), from.capacity, limit.capacity)
    return units > 0 and {now_us, units} or {}, warned, true, known
  end

  return load, load_log
end
