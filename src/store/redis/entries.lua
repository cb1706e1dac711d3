-- Checks that are more than one cost on one bucket or window: several entries, a log, a request id, or an explanation.
-- All entries are decided first, then, when it is known whether all had room, settled.

local REQUEST_ID, EXPLAIN = 64, 128  -- flags of a check
local CONFLICT, REPLAYED = -1, -2    -- verdicts beside the number of admissions

-- Returns decide(position, header, repeats)  →  verdict, record (nil: none; false: none because of a conflict), where
-- the check ends.
local function entry_checks(batch, limit_at, load, warns)
  local values, held, warned, logs, touched = batch.values, batch.held, batch.warned, batch.logs, batch.touched
  local ats, firsts, seconds, changed_logs = batch.ats, batch.firsts, batch.seconds, batch.changed_logs
  local now_us, checks = batch.now_us, ARGV[2]
  local LEAKY_BUCKET, RECORD_HEADER_BYTES, RECORD_ENTRY_BYTES = 2, 16, 22

  -- Of the check at hand, by the index of the entry.
  local keys, limits, costs, denials = {}, {}, {}, {}
  local fits, warned_before, new_ats, new_firsts, new_seconds = {}, {}, {}, {}, {}

  -- Returns where they end.
  local function read_entries(position, count)
    for i = 1, count do
      local limit, count_denied
      keys[i], limit, count_denied, costs[i], position = struct.unpack('>I2I2BI4', checks, position)
      limits[i], denials[i] = limit_at(limit), count_denied == 1
    end
    return position
  end

  local function decide_entry(i)
    local key, limit = keys[i], limits[i]
    if held[key] ~= limit then load(key, limit) end
    warned_before[i] = warned[key]
    if limit.is_log then
      local changed
      fits[i], changed = limit.steps.fits(limit, logs[key], now_us, costs[i])
      if changed then changed_logs[key] = true end
      new_seconds[i] = 0
    else
      fits[i], new_ats[i], new_firsts[i], new_seconds[i] =
        limit.charge(limit, ats[key], firsts[key], seconds[key], now_us, costs[i], denials[i])
    end
    return fits[i]
  end

  local function settle_log(i, key, limit, charged)
    local log = logs[key]
    if charged then
      limit.charge(limit, log, now_us, costs[i], denials[i])
      changed_logs[key] = true
    end
    if limit.capacity == 0 then return end
    local warning = limit.steps.units_used(limit, log, now_us) > (warned[key] and limit.calm_at_most or limit.warns_above)
    if warning ~= warned[key] then changed_logs[key] = true end
    warned[key] = warning
  end

  local function settle_entry(i, all_fit)
    local key, limit = keys[i], limits[i]
    if costs[i] == 0 then return end
    touched[key] = true
    local charged = all_fit or denials[i]
    if limit.is_log then return settle_log(i, key, limit, charged) end
    if fits[i] and not charged then return end  -- it had room, another had not
    local at, first, second = new_ats[i], new_firsts[i], new_seconds[i]
    if at == 0 and first == 0 then second = 0 end
    ats[key], firsts[key], seconds[key] = at, first, second
    warned[key] = warns(limit, warned[key], at, first, second, now_us)
  end

  -- Returns how often all entries had room: the first so many times.
  local function charge_entries(count, repeats)
    local admitted, leaves_trace = 0, false
    for i = 1, count do
      leaves_trace = leaves_trace or denials[i] or limits[i].algorithm == LEAKY_BUCKET
    end
    for _ = 1, repeats do
      local all_fit = true
      for i = 1, count do
        if not decide_entry(i) then all_fit = false end
      end
      for i = 1, count do settle_entry(i, all_fit) end
      if all_fit then
        admitted = admitted + 1
      elseif not leaves_trace then
        break
      end
    end
    return admitted
  end

  -- What became of an entry, in 22 bytes.
  local function explain_entry(i, all_fit)
    local key, limit, cost, allowed = keys[i], limits[i], costs[i], fits[i]
    local denied_cost = new_seconds[i]
    if allowed and not (all_fit or denials[i]) then  -- another had no room: its unchanged level
      cost, denied_cost = 0, seconds[key]
    end
    if limit.algorithm ~= LEAKY_BUCKET then denied_cost = 0 end
    local remaining, retry_after_us, reset_after_us
    if limit.is_log then
      remaining, retry_after_us, reset_after_us = limit.steps.explain(limit, logs[key], now_us, cost, allowed)
    else
      remaining, retry_after_us, reset_after_us =
        limit.steps.explain(limit, ats[key], firsts[key], seconds[key], now_us, cost, allowed)
    end
    local flags = allowed and 1 or 0
    if not allowed or remaining == 0 then
      flags = flags + 4
    elseif limit.capacity - remaining > (warned_before[i] and limit.calm_at_most or limit.warns_above) then
      flags = flags + 2
    end
    return struct.pack('>BI4I7I7I3', flags, remaining, retry_after_us + 1, reset_after_us, denied_cost)
  end

  local function explain_check(count, fingerprint, all_fit)
    local record = {fingerprint, struct.pack('>I7B', now_us, all_fit and 1 or 0)}
    for i = 1, count do record[i + 2] = explain_entry(i, all_fit) end
    return table.concat(record)
  end

  -- With a request id: the first decision stands.
  local function decide_once(position, count)
    local key, fingerprint, ttl_ms, after = struct.unpack('>I2c8I4', checks, position)
    local known = values[key]
    if known and #known >= RECORD_HEADER_BYTES and (#known - RECORD_HEADER_BYTES) % RECORD_ENTRY_BYTES == 0 then
      if string.sub(known, 1, 8) ~= fingerprint then return CONFLICT, false, after end
      return REPLAYED, known, after
    end
    local admitted = charge_entries(count, 1)
    local record = explain_check(count, fingerprint, admitted == 1)
    values[key] = record
    local new_records = batch.new_records
    new_records[#new_records + 1] = {key, record, ttl_ms}
    return admitted, record, after
  end

  return function(position, header, repeats)
    local count = header % REQUEST_ID
    local after = read_entries(position + 3, count)
    if header % EXPLAIN >= REQUEST_ID then return decide_once(after, count) end
    if header < EXPLAIN then return charge_entries(count, repeats), nil, after end
    local admitted = charge_entries(count, 1)
    return admitted, explain_check(count, '\0\0\0\0\0\0\0\0', admitted == 1), after
  end
end
