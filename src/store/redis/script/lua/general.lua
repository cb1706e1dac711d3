-- Checks that are more than a cost on one bucket or window: several entries, a log, a request id, an explanation, a
-- refund. All entries are decided first, then settled once it is known whether all had room.

local REQUEST_ID, EXPLAIN = 64, 128  -- flags of a check
local CONFLICT, REPLAYED = -1, -2    -- verdicts other than the number of admissions

-- Returns decide(position, header, repeats)    →  verdict, record or nil (false: there is none to tell), where it ends
--         write_records()                      the decisions to be repeated for their request ids
--         new_records                          these: key, by its number; record; ttl_ms, only of those that were not there
local function general_checks(now_us, values, fresh_us, limit_at, limit_in)
  local checks = ARGV[2]
  local RECORD_HEADER_BYTES, RECORD_ENTRY_BYTES = 16, 22
  local PAYLOAD_BYTES = 6  -- of the fingerprint; the rest identifies the limits of the request
  local REFUND, PART, LEASE = 0, 2, 3  -- instead of `repeats`
  local GRANTED_BYTES = 4  -- at the end of a lease's record
  local TOLD_AGAIN = 2     -- a flag of a part's record
  local load, packed, packed_log = counter_codec(values, limit_in)
  local new_records = {}
  local touch, tell, given  -- of migrate.lua

  -- The entries of the current check.
  local entries = {}

  local function read_entries(position, count)
    for i = 1, count do
      local key, limit_index, count_denied, cost
      key, limit_index, count_denied, cost, position = struct.unpack('>I2I2BI4', checks, position)
      local limit = limit_at(limit_index)
      local entry = {key = key, limit = limit, cost = cost, count_denied = count_denied == 1}
      load(entry)
      if entry.moving and not touch then touch, tell, given = migration() end
      entries[i] = entry
    end
    return position
  end

  local function decide_entry(entry)
    local limit = entry.limit
    entry.warned_before = entry.warned
    if entry.moving then
      local _
      _, _, entry.fits =
        touch(entry.from, limit, entry.kept, now_us, entry.cost, entry.count_denied, true)
    elseif entry.log then
      local changed
      entry.fits, changed = limit.steps.fits(limit, entry.log, now_us, entry.cost)
      entry.changed = entry.changed or changed
    else
      entry.fits, entry.new_at, entry.new_first, entry.new_second =
        limit.charge(limit, entry.at, entry.first, entry.second, now_us, entry.cost, entry.count_denied)
    end
    return entry.fits
  end

  local function settle_log(entry, charged)
    local limit, log = entry.limit, entry.log
    if charged then
      limit.charge(limit, log, now_us, entry.cost, entry.count_denied)
      entry.changed = true
    end
    if limit.capacity == 0 then return end
    local above = entry.warned and limit.calm_at_most or limit.warns_above
    local warned = limit.steps.units_used(limit, log, now_us) > above
    entry.changed = entry.changed or warned ~= entry.warned
    entry.warned = warned
  end

  -- For a counter that is kept under other numbers. Once it has moved, it is like any other.
  local function settle_moving(entry, all_fit)
    local limit, moved, kept = entry.limit
    moved, kept = touch(entry.from, limit, entry.kept, now_us, entry.cost, entry.count_denied,
      all_fit or not entry.fits)
    entry.kept = kept
    if not moved then return end
    entry.moving = false
    if entry.log then
      entry.log = kept.log
      settle_log(entry, false)
      entry.changed = true
    else
      entry.at, entry.first, entry.second = kept[1], kept[2], kept[3]
      entry.warned = limit.warns(limit, entry.warned, entry.at, entry.first, entry.second, now_us)
    end
  end

  local function settle_entry(entry, all_fit)
    if entry.cost == 0 then return end
    if entry.moving then return settle_moving(entry, all_fit) end
    local charged = all_fit or entry.count_denied
    if entry.log then return settle_log(entry, charged) end
    local limit, untouched, _ = entry.limit, entry.fits and not charged
    if entry.fits and not all_fit and limit.algorithm == LEAKY_BUCKET then
      -- It had room, another did not: that counts here, too. Its level stays, unless denials are charged.
      local at, second = entry.at, entry.second
      if untouched then
        _, entry.new_at, entry.new_first = limit.charge(limit, at, entry.first, second, now_us, 0, false)
      end
      entry.new_at, entry.new_first, entry.new_second =
        limit.steps.deny(limit, at, second, now_us, entry.cost, entry.new_at, entry.new_first)
    elseif untouched then
      return
    end
    entry.at, entry.first, entry.second = entry.new_at, entry.new_first, entry.new_second
    if not untouched then
      entry.warned = limit.warns(limit, entry.warned, entry.at, entry.first, entry.second, now_us)
    end
  end

  local function keep_log(key, limit, log, warned)
    if #log == 0 then return false end
    fresh_us[key] = log[#log - 1] + limit.period_us
    return packed_log(limit, log, warned)
  end

  local function keep_counter(key, limit, at, first, second, warned)
    if at == 0 and first == 0 and second == 0 then return false end
    fresh_us[key] = limit.fresh_at_us(limit, at, first, second)
    return packed(limit, at, first, second, warned)
  end

  -- Under the numbers that it is kept under.
  local function keep_moving(entry, warned)
    local key, limit, kept = entry.key, entry.from, entry.kept
    if kept.log then return keep_log(key, limit, kept.log, warned) end
    return keep_counter(key, limit, kept[1], kept[2], kept[3], warned)
  end

  local function counts_denials(limit) return limit.algorithm == LEAKY_BUCKET end

  -- The value to store for an entry.
  local function kept_value(entry)
    local key, limit = entry.key, entry.limit
    if entry.moving then return keep_moving(entry, entry.warned) end
    if not entry.log then return keep_counter(key, limit, entry.at, entry.first, entry.second, entry.warned) end
    if not entry.changed then return values[key] end
    return keep_log(key, limit, entry.log, entry.warned)
  end

  -- Returns how often all entries had room; admissions come first, then denials.
  local function charge_entries(count, repeats)
    local admitted, leaves_trace = 0, false
    for i = 1, count do
      leaves_trace = leaves_trace or entries[i].count_denied or counts_denials(entries[i].limit) or
        entries[i].from and counts_denials(entries[i].from)
    end
    for _ = 1, repeats do
      local all_fit = true
      for i = 1, count do
        if not decide_entry(entries[i]) then all_fit = false end
      end
      for i = 1, count do settle_entry(entries[i], all_fit) end
      if all_fit then
        admitted = admitted + 1
      elseif not leaves_trace then
        break
      end
    end
    for i = 1, count do
      local entry = entries[i]
      if entry.cost > 0 then values[entry.key] = kept_value(entry) end
    end
    return admitted
  end

  -- What is known about the check that a refund gives back: its time and the outcome of each entry.
  local function read_grants(position, count)
    local granted_at_us
    granted_at_us, position = struct.unpack('>I7', checks, position)
    for i = 1, count do
      local grant = {at_us = granted_at_us, cost = entries[i].cost}
      grant.remaining, grant.reset_after_us, position = struct.unpack('>I4I7', checks, position)
      entries[i].grant = grant
    end
    return position
  end

  -- Uses the numbers that it is kept under; the outcome of the charge does not apply to those.
  local function refund_moving(entry, refund, refund_log)
    local limit, from, kept = entry.limit, entry.from, entry.kept
    local cost = given(from, limit, entry.grant)
    entry.cost = 0
    if cost == 0 then return end
    local grant = {at_us = entry.grant.at_us, cost = cost, remaining = 0, reset_after_us = 0}
    if kept.log then
      refund_log(from, kept.log, now_us, grant)
    else
      entry.kept = {refund(from, kept[1], kept[2], kept[3], now_us, grant)}
    end
    local remaining = tell(from, limit, entry.kept, now_us, 0, false)
    local warned = limit.capacity - remaining > (entry.warned and limit.calm_at_most or limit.warns_above)
    values[entry.key] = keep_moving(entry, warned)
  end

  local function refund_entries(count)
    local refund, refund_log = refund_steps()
    for i = 1, count do
      local entry = entries[i]
      local limit = entry.limit
      entry.warned_before, entry.fits = entry.warned, limit.capacity > 0
      if not entry.known then
        entry.cost = 0  -- there is nothing to give back
      elseif entry.moving then
        if entry.cost > 0 then refund_moving(entry, refund, refund_log) end
      elseif entry.log then
        entry.changed = refund_log(limit, entry.log, now_us, entry.grant) or entry.changed
        settle_log(entry, false)
      else
        entry.new_at, entry.new_first, entry.new_second =
          refund(limit, entry.at, entry.first, entry.second, now_us, entry.grant)
        settle_entry(entry, true)
      end
    end
    charge_entries(count, 0)  -- stores them
    return 1
  end

  -- Of a look at a log that is used up: when a cost of 1 fits, if nobody comes before.
  local function one_unit_after_us(entry)
    local limit, _, wait_us = entry.limit
    if entry.moving then
      _, wait_us = tell(entry.from, limit, entry.kept, now_us, 1, false)
    else
      _, wait_us = limit.steps.explain(limit, entry.log, now_us, 1, false)
    end
    return wait_us
  end

  -- What became of an entry, in 22 bytes.
  local function explain_entry(entry, all_fit)
    local limit, cost, allowed, denied_cost = entry.limit, entry.cost, entry.fits, 0
    if allowed and not (all_fit or entry.count_denied) then cost = 0 end  -- another had no room: its unchanged level
    if limit.algorithm == LEAKY_BUCKET and not entry.moving then
      denied_cost = limit.steps.denied_cost(limit, entry.at, entry.second, now_us)
    end
    local remaining, retry_after_us, reset_after_us
    if entry.moving then
      remaining, retry_after_us, reset_after_us, denied_cost =
        tell(entry.from, limit, entry.kept, now_us, cost, entry.count_denied and not entry.grant)
    elseif entry.log then
      remaining, retry_after_us, reset_after_us = limit.steps.explain(limit, entry.log, now_us, cost, allowed)
    else
      remaining, retry_after_us, reset_after_us =
        limit.steps.explain(limit, entry.at, entry.first, entry.second, now_us, cost, allowed)
    end
    if limit.algorithm == SLIDING_LOG and entry.cost == 0 and allowed and remaining == 0 and not entry.grant then
      retry_after_us = one_unit_after_us(entry)
    end
    local flags = allowed and 1 or 0
    if remaining == 0 then
      flags = flags + 4
    elseif limit.capacity - remaining > (entry.warned_before and limit.calm_at_most or limit.warns_above) then
      flags = flags + 2
    end
    return struct.pack('>BI4I7I7I3', flags, remaining, retry_after_us + 1, reset_after_us, denied_cost)
  end

  local function explain_check(count, fingerprint, all_fit)
    local record = {fingerprint, struct.pack('>I7B', now_us, all_fit and 1 or 0)}
    for i = 1, count do record[i + 2] = explain_entry(entries[i], all_fit) end
    return table.concat(record)
  end

  -- The new value of a key; false: none. Without a time to live the key keeps the one it has.
  local function keep_record(key, record, ttl_ms)
    values[key] = record
    new_records[#new_records + 1] = {key = key, record = record, ttl_ms = ttl_ms}
  end

  local function has_charged(count, all_fit)
    for i = 1, count do
      if entries[i].cost > 0 and (all_fit or entries[i].count_denied) then return true end
    end
    return false
  end

  -- A lease takes what all entries have room for. Without room it is asked about one unit, and denied.
  local function lower_costs(count)
    local units = entries[1].cost
    for i = 1, count do
      local entry = entries[i]
      local limit, remaining = entry.limit
      if entry.moving then
        remaining = tell(entry.from, limit, entry.kept, now_us, 0, false)
      elseif entry.log then
        remaining = limit.steps.explain(limit, entry.log, now_us, 0, true)
      else
        remaining = limit.steps.explain(limit, entry.at, entry.first, entry.second, now_us, 0, true)
      end
      units = math.min(units, remaining)
    end
    units = math.max(units, 1)
    for i = 1, count do entries[i].cost = units end
    return units
  end

  -- No more comes back than was granted.
  local function lower_grants(count, units)
    for i = 1, count do
      local entry = entries[i]
      entry.cost = math.min(entry.cost, units)
      entry.grant.cost = entry.cost
    end
  end

  -- With a request id: a decision that has charged something stands. A refund removes the record, if it is still the
  -- one that it gives back, and nobody else was told of it since.
  local function decide_once(position, count, settle, is_part, is_lease)
    local key, fingerprint, ttl_ms, after = struct.unpack('>I2c8I4', checks, position)
    local known = values[key]
    local after_entries = type(known) == 'string' and #known >= RECORD_HEADER_BYTES and
      (#known - RECORD_HEADER_BYTES) % RECORD_ENTRY_BYTES
    local is_known = after_entries == 0 or after_entries == GRANTED_BYTES
    local granted  -- of a lease
    if is_known and string.sub(known, 1, PAYLOAD_BYTES) ~= string.sub(fingerprint, 1, PAYLOAD_BYTES) then
      return CONFLICT, false, after
    end
    if settle == refund_entries then
      local at_us, flags
      if is_known then at_us, flags = struct.unpack('>I7B', known, 9) end
      if at_us ~= entries[1].grant.at_us or flags ~= ttl_ms then return REPLAYED, false, after end
      if after_entries == GRANTED_BYTES then
        -- Units come back only to the limits that they were taken from.
        if string.sub(known, 1, 8) ~= fingerprint then return REPLAYED, false, after end
        granted = struct.unpack('>I4', known, #known - 3)
        lower_grants(count, granted)
      end
      keep_record(key, false)
    elseif is_known then
      local flags = string.byte(known, 16)
      if is_part and flags < TOLD_AGAIN then
        keep_record(key, string.sub(known, 1, 15) .. string.char(flags + TOLD_AGAIN) .. string.sub(known, 17))
      end
      return REPLAYED, values[key], after
    end
    local units = is_lease and lower_costs(count)
    local admitted = settle(count, 1)
    local record = explain_check(count, fingerprint, admitted == 1)
    if is_lease then granted = admitted * units end
    if granted then record = record .. struct.pack('>I4', granted) end
    if settle == charge_entries and has_charged(count, admitted == 1) then keep_record(key, record, ttl_ms) end
    return admitted, record, after
  end

  local function decide(position, header, repeats)
    local count = header % REQUEST_ID
    local after, settle = read_entries(position + 3, count), charge_entries
    if repeats == REFUND then
      after, settle = read_grants(after, count), refund_entries
    end
    if header % EXPLAIN >= REQUEST_ID then
      return decide_once(after, count, settle, repeats == PART, repeats == LEASE)
    end
    if header < EXPLAIN then return charge_entries(count, repeats), nil, after end
    local admitted = settle(count, 1)
    return admitted, explain_check(count, '\0\0\0\0\0\0\0\0', admitted == 1), after
  end

  local function write_records()
    for i = 1, #new_records do
      local key, record, ttl_ms = KEYS[new_records[i].key], new_records[i].record, new_records[i].ttl_ms
      if not record then
        redis.call('DEL', key)
      elseif not ttl_ms then
        redis.call('SET', key, record, 'KEEPTTL')
      else
        redis.call('SET', key, record, 'PX', string.format('%.0f', ttl_ms))
      end
    end
  end

  return {decide = decide, write_records = write_records, new_records = new_records}
end
