-- Reading counters in all the ways that are not the usual one: a log, a value that was written under other numbers, a value
-- that is no counter at all. (The usual one, 12 bytes under the same numbers, is in driver.lua.)

-- Returns load(key, limit)            →  at, first, second, warned    under the numbers of `limit`, which is no log's
--         load_log(key, limit)        →  log, warned, changed         the same for a log
--         log_codec()                 →  pack(tag, log), unpack(value): how a log is written
--         written_under(tag, limit)   →  the limit that a value with this tag was written under, known
local function counter_reader(now_us, values, limit_at)
  local codec, migrate, carried, migrate_log

  local function need_migration()
    if not migrate then migrate, carried, migrate_log = migration() end
  end

  -- A log is its tag, the letter L, then time and cost of each entry. No other counter has such a length.
  local function log_codec()
    if codec then return codec end
    local MARK, HEADER_BYTES, ENTRY_BYTES = 76, 2, 11
    local ENTRIES_AT_ONCE = 50

    local function pack_log(tag, log)
      local parts, size = {struct.pack('>BB', tag, MARK)}, #log
      for i = 1, size, 2 * ENTRIES_AT_ONCE do
        local last = math.min(i + 2 * ENTRIES_AT_ONCE - 1, size)
        parts[#parts + 1] = struct.pack('>' .. string.rep('I7I4', (last - i + 1) / 2), unpack(log, i, last))
      end
      return table.concat(parts)
    end

    -- Nothing when the bytes are not a log.
    local function unpack_log(value)
      local size = #value
      if size < HEADER_BYTES or (size - HEADER_BYTES) % ENTRY_BYTES ~= 0 or string.byte(value, 2) ~= MARK then
        return nil
      end
      local log, count = {}, 0
      for position = HEADER_BYTES + 1, size, ENTRY_BYTES do
        count = count + 2
        log[count - 1], log[count] = struct.unpack('>I7I4', value, position)
      end
      return log
    end

    codec = {pack = pack_log, unpack = unpack_log}
    return codec
  end

  -- The numbers a value was written under, and whether the call knows them; if not, those of `limit`, which will make of
  -- it what they can.
  local function written_under(tag, limit)
    local candidate = limit
    while candidate.tag ~= tag do
      if candidate.previous == 0 or limit.on_change == RESET then return limit, false end
      candidate = limit_at(candidate.previous)
    end
    return candidate, true
  end

  -- → the limit it was written under, warned, and the state: a log, or three numbers. Nothing if it can't be read.
  local function read(key, limit)
    local value = values[key]
    if not value or value == '' then return nil end
    local tag = string.byte(value)
    local from, known = written_under(tag % 128, limit)
    if not known and limit.on_change == RESET then return nil end
    local warned = tag >= 128
    if from.is_log then
      local log = log_codec().unpack(value)
      if log then return from, warned, log end
    elseif #value == 12 or #value == 16 then
      local at, first = struct.unpack('>I7I4', value, 2)
      return from, warned, at, first, #value == 16 and struct.unpack('>I4', value, 13) or 0
    end
    return nil
  end

  local function load(key, limit)
    local from, warned, at, first, second = read(key, limit)
    if not from then return 0, 0, 0, false end
    if from ~= limit then need_migration() end
    if from.is_log then
      local units = carried(from, limit, from.steps.units_used(from, at, now_us))
      at, first, second = limit.steps.with_units_used(limit, units, now_us)
    elseif from ~= limit then
      at, first, second = migrate(from, limit, at, first, second, now_us)
    end
    return at, first, second, warned
  end

  local function load_log(key, limit)
    local from, warned, at, first, second = read(key, limit)
    if not from then return {}, false, (values[key] or '') ~= '' end
    if from == limit then return at, warned, false end
    need_migration()
    if from.is_log then
      migrate_log(from, limit, at, now_us)
      return at, warned, true
    end
    local units = carried(from, limit, math.min(from.steps.units_used(from, at, first, second, now_us), from.capacity))
    return units > 0 and {now_us, units} or {}, warned, true
  end

  return load, load_log, log_codec, written_under
end
