-- What happens to a counter that is checked under other numbers than those it is kept under: the twin of migrate.cc;
-- migrate.h explains it. Returns
--
--   touch(from, to, kept, now_us, cost, count_denied, others_fit)  →  moved, kept, allowed
--   tell(from, to, kept, now_us, cost, count_denied)               →  remaining, retry_after_us, reset_after_us, denied_cost
--   given(kept_by, limit, grant)                                   →  what a refund of a charge under `limit` gives back
--
-- `kept` is the content of a counter: {at, first, second} or {log = …}. It is never changed; touch() returns what to keep
-- now, under the new numbers if it has moved. tell() is for a counter that has not moved. `limit.steps` are the steps of
-- its algorithm.

local ANY_TIME_US = 9007199254740992  -- 2^53: a grant whose time is not known

local function migration()
  local floor, max, min = math.floor, math.max, math.min

  local function is_bucket(limit) return limit.algorithm < FIXED_WINDOW end
  local function is_log(limit) return limit.algorithm == SLIDING_LOG end
  local function is_leaky(limit) return limit.algorithm == LEAKY_BUCKET end

  -- Whether units must be converted between the two limits.
  local function is_scaled(from, to) return from.scale > 0 and to.scale > 0 and from.scale ~= to.scale end

  -- True when a state means the same under both limits, whatever their capacities.
  local function same_meter(a, b)
    if a.capacity == 0 or b.capacity == 0 then return false end
    if is_bucket(a) and is_bucket(b) then
      return a.denominator == b.denominator and a.interval_us == b.interval_us and
        a.interval_remainder == b.interval_remainder
    end
    return a.algorithm == b.algorithm and a.period_us == b.period_us
  end

  local function copied(log)
    local copy = {}
    for i = 1, #log do copy[i] = log[i] end
    return copy
  end

  local function total(log)
    local sum = 0
    for i = 2, #log, 2 do sum = sum + log[i] end
    return sum
  end

  -- The log without expired entries, and the effective time.
  local function settled(limit, log, now_us)
    log = copied(log)
    return log, limit.steps.settle(limit, log, now_us)
  end

  local function units_used(limit, kept, now_us)
    if limit.capacity == 0 then return 0 end
    if is_log(limit) then return total((settled(limit, kept.log, now_us))) end
    return limit.steps.units_used(limit, kept[1], kept[2], kept[3], now_us)
  end

  local function with_units_used(limit, units, now_us)
    if units == 0 or limit.capacity == 0 then return is_log(limit) and {log = {}} or {0, 0, 0} end
    units = min(units, WINDOW_UNITS_MAX)
    if is_log(limit) then return {log = {now_us, units}} end
    if is_bucket(limit) then units = min(units, limit.capacity) end
    return {limit.steps.with_units_used(limit, units, now_us)}
  end

  -- units × to ÷ from, rounded up. All are below 2^30, but the product may exceed 2^53: so in two digits of 15 bits.
  -- The result is exact up to 2^53; anything beyond is more than any limit holds.
  local function scaled(units, to, from)
    local DIGIT = 32768
    local low = units % DIGIT
    local product = (units - low) / DIGIT * to
    local high = floor(product / from)
    return high * DIGIT + math.ceil(((product - high * from) * DIGIT + low * to) / from)
  end

  -- The same, rounded down.
  local function scaled_down(units, to, from)
    if to == 0 then return 0 end
    local up = scaled(units, to, from)
    if scaled(up, from, to) > units then return up - 1 end
    return up
  end

  local function carried(from, to, units)
    if not is_scaled(from, to) then return units end
    return scaled(units, to.scale, from.scale)
  end

  -- The most units that may be in use under the old numbers for the cost to fit into the new ones.
  local function most_units(from, to, cost)
    local room = to.capacity - cost
    if not is_scaled(from, to) then return room end
    return scaled_down(room, from.scale, to.scale)
  end

  -- What a grant gives back to a counter that is kept under other numbers: the twin of under_other_numbers() in refund.cc.
  local function given(kept_by, limit, grant)
    if grant.at_us ~= ANY_TIME_US or limit.capacity == 0 then return 0 end
    if not is_scaled(kept_by, limit) then return grant.cost end
    return min(grant.cost, scaled_down(grant.cost, kept_by.scale, limit.scale))
  end

  -- a − b of two lengths of time, rounded up to whole microseconds.
  local function difference_us(a_us, a_fraction, b_us, b_fraction)
    local us = a_us - b_us
    if a_fraction > b_fraction then us = us + 1 end
    return us
  end

  local function explained(limit, kept, now_us, cost, allowed)
    if is_log(limit) then return limit.steps.explain(limit, kept.log, now_us, cost, allowed) end
    return limit.steps.explain(limit, kept[1], kept[2], kept[3], now_us, cost, allowed)
  end

  -- How long until at most `units` are in use.
  local function wait_us(limit, kept, now_us, units)
    if units_used(limit, kept, now_us) <= units then return 0 end
    if is_bucket(limit) then
      local us, fraction = limit.steps.used(limit, kept[1], kept[2], now_us)
      return difference_us(us, fraction, limit.steps.plus_units(limit, 0, 0, units))
    end
    -- The same as the wait for one unit under a limit of `units + 1`.
    local larger = {capacity = units + 1, period_us = limit.period_us, algorithm = limit.algorithm, steps = limit.steps}
    if is_log(limit) then kept = {log = settled(limit, kept.log, now_us)} end
    local _, retry_after_us = explained(larger, kept, now_us, 1, false)
    return retry_after_us
  end

  -- How long the cost must wait if the counter does not move.
  local function stays_us(from, to, kept, now_us, cost)
    if not is_scaled(from, to) and is_bucket(to) and same_meter(from, to) then
      local us, fraction = from.steps.used(from, kept[1], kept[2], now_us)
      local room_us, room_fraction = to.steps.plus_units(to, 0, 0, to.capacity - cost)
      if us < room_us or (us == room_us and fraction <= room_fraction) then return 0 end
      return difference_us(us, fraction, room_us, room_fraction)
    end
    return wait_us(from, kept, now_us, most_units(from, to, cost))
  end

  local function share_of(from, to, log)
    local newer, carried_newer, kept, shared = 0, 0, {}, {}
    for i = #log, 2, -2 do
      newer = newer + log[i]
      local cost = carried(from, to, newer) - carried_newer
      carried_newer = carried_newer + cost
      if cost > 0 then
        kept[#kept + 1] = cost
        kept[#kept + 1] = log[i - 1]
      end
    end
    for i = 1, #kept do shared[i] = kept[#kept + 1 - i] end
    return shared
  end

  local function moved_log(from, to, log, now_us)
    local time_us
    log, time_us = settled(from, log, now_us)
    if is_scaled(from, to) then log = share_of(from, to, log) end
    local oldest_us, merged = max(time_us - to.period_us + 1, 0), {}
    for i = 1, #log, 2 do to.steps.append(merged, max(log[i], oldest_us), log[i + 1]) end
    return {log = merged}, total(merged) <= to.capacity
  end

  -- The counter as the new numbers see it, and whether it holds all of the use.
  local function seen_by(from, to, kept, now_us)
    if is_log(from) and is_log(to) then return moved_log(from, to, kept.log, now_us) end
    local seen, whole = kept, true
    if not is_scaled(from, to) and same_meter(from, to) then
      if not is_bucket(to) then return kept, true end
      local us, fraction = from.steps.used(from, kept[1], kept[2], now_us)
      if us > to.full_us or (us == to.full_us and fraction > to.full_remainder) then
        us, fraction, whole = to.full_us, to.full_remainder, false
      end
      seen = {0, 0, 0}
      if us > 0 or fraction > 0 then seen = {now_us + us, fraction, 0} end
    else
      local units = carried(from, to, units_used(from, kept, now_us))
      seen, whole = with_units_used(to, units, now_us), units <= to.capacity
    end
    if is_leaky(from) and is_leaky(to) then
      -- Its denied cost survives a change of its numbers, but not a change of the algorithm.
      local denied = from.steps.denied_cost(from, kept[1], kept[3], now_us)
      seen = {to.steps.with_denied_cost(seen[1], seen[2], denied, min(kept[1], now_us))}
    end
    return seen, whole
  end

  -- → allowed, kept
  local function charged(limit, kept, now_us, cost, count_denied)
    if is_log(limit) then
      local log = copied(kept.log)
      local allowed = limit.steps.charge(limit, log, now_us, cost, count_denied)
      return allowed, {log = log}
    end
    local allowed, at, first, second =
      limit.steps.charge(limit, kept[1], kept[2], kept[3], now_us, cost, count_denied)
    return allowed, {at, first, second}
  end

  -- The outcome for a counter that stays under its numbers. `seen`: the counter as the new numbers see it.
  local function told(from, to, kept, seen, now_us, cost, count_denied)
    local allowed, after = charged(to, seen, now_us, cost, cost == 0 and count_denied)
    if allowed and cost > 0 then
      cost = 0
      allowed, after = charged(to, seen, now_us, 0, false)
    end
    local remaining, retry_after_us = explained(to, after, now_us, cost, allowed)
    if not allowed and retry_after_us ~= NEVER then retry_after_us = stays_us(from, to, kept, now_us, cost) end
    local _, level = charged(from, kept, now_us, 0, false)
    local _, _, reset_after_us = explained(from, level, now_us, 0, true)
    return remaining, retry_after_us, reset_after_us
  end

  -- An idle counter may be forgotten at any time, so it is treated as if it were.
  local function is_idle(limit, kept, now_us)
    if limit.capacity == 0 then return true end
    if is_log(limit) then return units_used(limit, kept, now_us) == 0 end
    return limit.steps.fresh_at_us(limit, kept[1], kept[2], kept[3]) <= now_us
  end

  local function touch(from, to, kept, now_us, cost, count_denied, others_fit)
    local seen, whole = seen_by(from, to, kept, now_us)
    if cost == 0 then
      local allowed = charged(to, seen, now_us, 0, count_denied)
      return false, kept, allowed
    end
    local allowed, after = charged(to, seen, now_us, cost, count_denied)
    local moves = (allowed and others_fit) or (count_denied and whole and to.capacity > 0)
    if not moves and whole and not allowed and cost <= to.capacity then
      local _, retry_after_us = explained(to, after, now_us, cost, false)
      moves = retry_after_us < stays_us(from, to, kept, now_us, cost)
    end
    if moves or is_idle(from, kept, now_us) then
      local _
      if allowed and not others_fit and not count_denied then _, after = charged(to, seen, now_us, 0, false) end
      if allowed and not others_fit and is_leaky(to) then
        after = {to.steps.deny(to, seen[1], seen[3], now_us, cost, after[1], after[2])}
      end
      return true, after, allowed
    end
    local _, level = charged(from, kept, now_us, 0, false)  -- drops what has expired
    if is_leaky(from) then level = {from.steps.deny(from, kept[1], kept[3], now_us, cost, level[1], level[2])} end
    return false, level, allowed
  end

  local function tell(from, to, kept, now_us, cost, count_denied)
    local seen = seen_by(from, to, kept, now_us)
    local remaining, retry_after_us, reset_after_us = told(from, to, kept, seen, now_us, cost, count_denied)
    local denied = 0
    if is_leaky(from) and is_leaky(to) then denied = from.steps.denied_cost(from, kept[1], kept[3], now_us) end
    return remaining, retry_after_us, reset_after_us, denied
  end

  return touch, tell, given
end
