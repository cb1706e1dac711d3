-- Decides the checks of one call in order, and answers. README.md describes the call.
--
-- Nothing is written before everything is decided, so a call that fails leaves no half of itself behind.

local REQUEST_ID, EXPLAIN = 64, 128  -- flags of a check
local CONFLICT, REPLAYED = -1, -2    -- verdicts beside the number of admissions
local RECORD_HEADER, RECORD_ENTRY = 16, 22
local LEAKY_BUCKET = 2

local checks = ARGV[2]
local counter_keys, position = unpack_bytes('>I2', checks)
local checks_end = #checks

-- The same cost `repeats` times on one counter that is no log. Returns how often it was admitted: the first so many
-- times, for nothing is given back within a call.
local function charge_counter(key, limit, cost, count_denied, repeats)
  if held[key] ~= limit then load(key, limit) end
  local charge, at, first, second = limit.charge, ats[key], firsts[key], seconds[key]
  if cost == 0 then
    return charge(limit, at, first, second, now_us, 0) and repeats or 0
  end
  touched[key] = true
  local admitted, warning = 0, warned[key]
  for _ = 1, repeats do
    local allowed, new_at, new_first, new_second = charge(limit, at, first, second, now_us, cost, count_denied)
    local same = new_at == at and new_first == first and new_second == second
    at, first, second = new_at, new_first, new_second
    -- A full bucket is forgotten, and a leaky bucket's denied cost with it.
    if at == 0 and first == 0 then second = 0 end
    warning = warns(limit, warning, at, first, second)
    if allowed then
      admitted = admitted + 1
    elseif same then
      break  -- the rest will be denied as well and leave no trace either
    end
  end
  ats[key], firsts[key], seconds[key], warned[key] = at, first, second, warning
  return admitted
end

-- A check with several entries, one with a log, or one to be explained: first all entries are decided, then, when it
-- is known whether all had room, settled. By the index of the entry:
local entry_keys, entry_limits, entry_costs, entry_denials = {}, {}, {}, {}
local fits, warned_before, new_ats, new_firsts, new_seconds = {}, {}, {}, {}, {}

local function decide_entry(i)
  local key, limit = entry_keys[i], entry_limits[i]
  if held[key] ~= limit then load(key, limit) end
  warned_before[i] = warned[key]
  local log = logs[key]
  if log then
    local changed
    fits[i], changed = sliding_log_fits(limit, log, now_us, entry_costs[i])
    if changed then changed_logs[key] = true end
    new_seconds[i] = 0
  else
    fits[i], new_ats[i], new_firsts[i], new_seconds[i] =
      limit.charge(limit, ats[key], firsts[key], seconds[key], now_us, entry_costs[i], entry_denials[i])
  end
  return fits[i]
end

local function settle_log(i, key, limit, charged)
  local log = logs[key]
  if charged then
    sliding_log_charge(limit, log, now_us, entry_costs[i], entry_denials[i])
    changed_logs[key] = true
  end
  local warning = log_warns(limit, warned[key], log)
  if warning ~= warned[key] then changed_logs[key] = true end
  warned[key] = warning
end

local function settle_entry(i, all_fit)
  local key, limit = entry_keys[i], entry_limits[i]
  if entry_costs[i] == 0 then return end
  touched[key] = true
  local charged = all_fit or entry_denials[i]
  if logs[key] then return settle_log(i, key, limit, charged) end
  if fits[i] and not charged then return end  -- it had room, another had not
  local at, first, second = new_ats[i], new_firsts[i], new_seconds[i]
  if at == 0 and first == 0 and is_bucket(limit) then second = 0 end
  ats[key], firsts[key], seconds[key] = at, first, second
  warned[key] = warns(limit, warned[key], at, first, second)
end

local function charge_entries(count, repeats)
  local admitted, leaves_trace = 0, false
  for i = 1, count do
    leaves_trace = leaves_trace or entry_denials[i] or entry_limits[i].algorithm == LEAKY_BUCKET
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
  local key, limit, cost, allowed = entry_keys[i], entry_limits[i], entry_costs[i], fits[i]
  local denied_cost = limit.algorithm == LEAKY_BUCKET and new_seconds[i] or 0
  if allowed and not (all_fit or entry_denials[i]) then  -- its unchanged level
    cost = 0
    denied_cost = limit.algorithm == LEAKY_BUCKET and seconds[key] or 0
  end
  local remaining, retry_after_us, reset_after_us
  if logs[key] then
    remaining, retry_after_us, reset_after_us = sliding_log_explain(limit, logs[key], now_us, cost, allowed)
  else
    remaining, retry_after_us, reset_after_us =
      explains[limit.algorithm + 1](limit, ats[key], firsts[key], seconds[key], now_us, cost, allowed)
  end
  local flags, used = allowed and 1 or 0, limit.capacity - remaining
  if not allowed or remaining == 0 then
    flags = flags + 4
  elseif used > (warned_before[i] and limit.calm_at_most or limit.warns_above) then
    flags = flags + 2
  end
  return pack('>BI4I7I7I3', flags, remaining, retry_after_us + 1, reset_after_us, denied_cost)
end

local function explain_check(count, fingerprint, all_fit)
  local record = {fingerprint, pack('>I7B', now_us, all_fit and 1 or 0)}
  for i = 1, count do record[i + 2] = explain_entry(i, all_fit) end
  return table.concat(record)
end

-- Reads the entries of a check that begins at `start`. Returns where they end.
local function read_entries(start, count)
  local at = start + 3
  for i = 1, count do
    local key, limit, denials, cost
    key, limit, denials, cost, at = unpack_bytes('>I2I2BI4', checks, at)
    entry_keys[i], entry_limits[i], entry_denials[i], entry_costs[i] = key, limit_at(limit), denials == 1, cost
  end
  return at
end

local new_records = {}  -- of request ids: key, record, ttl in ms, …

-- Returns verdict, record and where the check ends.
local function decide_check(start, header, repeats)
  local count = header % REQUEST_ID
  local at = read_entries(start, count)
  if header % EXPLAIN < REQUEST_ID then
    local admitted = charge_entries(count, repeats)
    if header < EXPLAIN then return admitted, nil, at end
    return admitted, explain_check(count, '\0\0\0\0\0\0\0\0', admitted > 0), at
  end
  local key, fingerprint, ttl_ms
  key, fingerprint, ttl_ms, at = unpack_bytes('>I2c8I4', checks, at)
  local known = values[key]
  if known and #known >= RECORD_HEADER and (#known - RECORD_HEADER) % RECORD_ENTRY == 0 then
    if string.sub(known, 1, 8) ~= fingerprint then return CONFLICT, false, at end
    return REPLAYED, known, at
  end
  local admitted = charge_entries(count, 1)
  local record = explain_check(count, fingerprint, admitted > 0)
  values[key] = record
  local size = #new_records
  new_records[size + 1], new_records[size + 2], new_records[size + 3] = KEYS[key], record, ttl_ms
  return admitted, record, at
end

local reply, size, records = {now_us}, 1, {}
while position <= checks_end do
  local header, repeats, key, limit_index, denials, cost, after =
    unpack_bytes('>BI2I2I2BI4', checks, position)
  local limit, verdict = limits[limit_index] or limit_at(limit_index), nil
  if header == 1 and limit.charge then
    verdict = charge_counter(key, limit, cost, denials == 1, repeats)
    position = after
  else
    local record
    verdict, record, position = decide_check(position, header, repeats)
    if record ~= nil then records[#records + 1] = record end
  end
  size = size + 1
  reply[size] = verdict
end

for key = 1, counter_keys do reply[size + key] = values[key] end
for i = 1, #records do reply[size + counter_keys + i] = records[i] end

write_counters(counter_keys)
for i = 1, #new_records, 3 do
  call('SET', new_records[i], new_records[i + 1], 'PX', string.format('%.0f', new_records[i + 2]))
end
return reply
