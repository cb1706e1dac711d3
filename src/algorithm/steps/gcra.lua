-- GCRA, the meter behind gcra, token_bucket and leaky_bucket: the twin of gcra.h, which explains it.
--
-- Numbers are Lua's doubles, whole and below 2^53, so every sum, product and comparison here is exact. A length
-- of time is two of them: microseconds, and a fraction over the limit's denominator.
--
-- Each algorithm is a function that returns its steps. (They are made only when a call needs them: in Redis the
-- script starts from scratch every time.) All algorithms except the sliding log return these:
--
--   charge(limit, at, first, second, now_us, cost, count_denied)  →  allowed, at, first, second
--   explain(limit, at, first, second, now_us, cost, allowed)      →  remaining, retry_after_us, reset_after_us
--   units_used(limit, at, first, second, now_us)                  →  units in use; a partly used one counts as whole
--   with_units_used(limit, units, now_us)                         →  at, first, second; REQUIRES: units <= capacity
--   fresh_at_us(limit, at, first, second)                         →  when it will decide and report as a fresh one
--
-- `charge` decides and returns the state afterwards. `explain` derives from that state, the cost and the decision
-- what is left and how long to wait; most checks in Redis do without it.

local NEVER = -1

local function gcra_steps()
  local floor = math.floor

  -- How much of the bucket is used, as the time its refill takes: between empty and full.
  local function used(limit, at, first, now_us)
    if at < now_us then return 0, 0 end
    local us, fraction = at - now_us, first
    if fraction >= limit.denominator then fraction = limit.denominator - 1 end
    if us > limit.full_us or (us == limit.full_us and fraction > limit.full_remainder) then
      return limit.full_us, limit.full_remainder
    end
    return us, fraction
  end

  -- us, fraction + units × interval. REQUIRES: units <= capacity.
  local function plus_units(limit, us, fraction, units)
    us = us + units * limit.interval_us
    fraction = fraction + units * limit.interval_remainder
    local denominator = limit.denominator
    if fraction < denominator then return us, fraction end
    local carry = floor(fraction / denominator)
    return us + carry, fraction - carry * denominator
  end

  -- used() and plus_units() are inlined by hand: a call costs as much as the arithmetic.
  local function charge(limit, at, first, second, now_us, cost, count_denied)
    local capacity = limit.capacity
    if capacity == 0 then return false, at, first, second end
    local full_us, full_fraction, denominator = limit.full_us, limit.full_remainder, limit.denominator
    local us, fraction = at - now_us, first
    if us < 0 then
      us, fraction = 0, 0
    else
      if fraction >= denominator then fraction = denominator - 1 end
      if us > full_us or (us == full_us and fraction > full_fraction) then us, fraction = full_us, full_fraction end
    end
    if cost <= capacity then  -- if not, cost × interval may be too large to compute
      local after_us = us + cost * limit.interval_us
      local after_fraction = fraction + cost * limit.interval_remainder
      if after_fraction >= denominator then
        local carry = floor(after_fraction / denominator)
        after_us, after_fraction = after_us + carry, after_fraction - carry * denominator
      end
      if after_us < full_us or (after_us == full_us and after_fraction <= full_fraction) then
        if after_us == 0 and after_fraction == 0 then return true, 0, 0, 0 end
        return true, now_us + after_us, after_fraction, 0
      end
    end
    if count_denied then us, fraction = full_us, full_fraction end
    if us == 0 and fraction == 0 then return false, 0, 0, 0 end
    return false, now_us + us, fraction, 0
  end

  -- How many whole intervals this length of time holds. It must not be longer than a full refill.
  -- The estimate is off by one at most; multiplying back is exact.
  local function whole_units(limit, us, fraction)
    local denominator = limit.denominator
    local interval = limit.interval_us + limit.interval_remainder / denominator
    local units = floor((us + fraction / denominator) / interval)
    if units > limit.capacity then units = limit.capacity end
    local units_us, units_fraction = plus_units(limit, 0, 0, units)
    if units_us > us or (units_us == us and units_fraction > fraction) then return units - 1 end
    if units == limit.capacity then return units end
    units_us, units_fraction = plus_units(limit, 0, 0, units + 1)
    if units_us < us or (units_us == us and units_fraction <= fraction) then return units + 1 end
    return units
  end

  -- Whole units that still fit.
  local function remaining_units(limit, used_us, used_fraction)
    local us, fraction = limit.full_us - used_us, limit.full_remainder - used_fraction
    if fraction < 0 then us, fraction = us - 1, fraction + limit.denominator end
    return whole_units(limit, us, fraction)
  end

  local function explain(limit, at, first, _, now_us, cost, allowed)
    if limit.capacity == 0 then return 0, NEVER, 0 end
    local us, fraction = used(limit, at, first, now_us)
    local retry_after_us = 0
    if not allowed then
      retry_after_us = NEVER
      if cost <= limit.capacity then
        -- The cost fits as soon as the overflow has been refilled.
        local after_us, after_fraction = plus_units(limit, us, fraction, cost)
        retry_after_us = after_us - limit.full_us
        if after_fraction > limit.full_remainder then retry_after_us = retry_after_us + 1 end
      end
    end
    local reset_after_us = us
    if fraction > 0 then reset_after_us = us + 1 end
    return remaining_units(limit, us, fraction), retry_after_us, reset_after_us
  end

  -- Units in use; a partly used unit counts as a whole one.
  local function units_used(limit, at, first, _, now_us)
    if limit.capacity == 0 then return 0 end
    return limit.capacity - remaining_units(limit, used(limit, at, first, now_us))
  end

  local function with_units_used(limit, units, now_us)
    if units == 0 then return 0, 0, 0 end
    local us, fraction = plus_units(limit, 0, 0, units)
    return now_us + us, fraction, 0
  end

  local function fresh_at_us(_, at, first)
    if first > 0 then return at + 1 end
    return at
  end

  return {
    charge = charge, explain = explain, units_used = units_used, with_units_used = with_units_used,
    fresh_at_us = fresh_at_us, used = used, plus_units = plus_units,
  }
end
