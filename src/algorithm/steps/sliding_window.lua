-- Sliding window by two counters: the twin of sliding_window.h, which explains it.

local function sliding_window_steps()
  local floor = math.floor

  -- a × b − c × d, exact although the products may need 75 bits.
  -- REQUIRES: a, c < 2^30; b, d < 2^45; the result lies within ±2^52.
  local function product_difference(a, b, c, d)
    local b_high, d_high = floor(b / 4194304), floor(d / 4194304)  -- 2^22
    local low = a * (b - b_high * 4194304) - c * (d - d_high * 4194304)
    return (a * b_high - c * d_high) * 4194304 + low
  end

  -- The counts as of `now_us`: index, current, previous.
  local function roll(limit, at, first, second, now_us)
    local index = floor(now_us / limit.period_us)
    if at < index - 1 or (first == 0 and second == 0) then return index, 0, 0 end
    if at == index - 1 then return index, 0, first end
    if at > index + 1 then at = index + 1 end  -- the clock has stepped back
    return at, first, second
  end

  -- The part of the previous window that still counts: ⌈previous × (period − elapsed) ÷ period⌉.
  local function faded(limit, index, previous, now_us)
    if previous == 0 then return 0 end
    local period_us = limit.period_us
    local elapsed_us = now_us - index * period_us
    if elapsed_us <= 0 then return previous end
    local left_us = period_us - elapsed_us
    local units = floor(previous * left_us / period_us)  -- off by one at most
    local rest = product_difference(previous, left_us, units, period_us)
    if rest <= 0 then return units end
    if rest > period_us then return units + 2 end
    return units + 1
  end

  -- How far into the following window a count has faded to at most `room`: period − ⌊room × period ÷ count⌋.
  -- REQUIRES: count > room >= 0.
  local function faded_to(limit, count, room)
    local weighs_us = floor(room * limit.period_us / count)  -- off by one at most
    local rest = product_difference(room, limit.period_us, count, weighs_us)
    if rest < 0 then
      weighs_us = weighs_us - 1
    elseif rest >= count then
      weighs_us = weighs_us + 1
    end
    return limit.period_us - weighs_us
  end

  local function charge(limit, at, first, second, now_us, cost, count_denied)
    if limit.capacity == 0 then return false, at, first, second end
    local index, current, previous = roll(limit, at, first, second, now_us)
    local allowed = (cost == 0 and not count_denied) or
      faded(limit, index, previous, now_us) + current + cost <= limit.capacity
    if allowed or count_denied then
      current = current + cost
      if current > WINDOW_UNITS_MAX then current = WINDOW_UNITS_MAX end
    end
    if current == 0 and previous == 0 then return allowed, 0, 0, 0 end
    return allowed, index, current, previous
  end

  local function explain(limit, at, first, second, now_us, cost, allowed)
    if limit.capacity == 0 then return 0, NEVER, 0 end
    local index, current, previous = roll(limit, at, first, second, now_us)
    local remaining = limit.capacity - faded(limit, index, previous, now_us) - current
    if remaining < 0 then remaining = 0 end
    local start_us, period_us = index * limit.period_us, limit.period_us
    local retry_after_us, reset_after_us = 0, 0
    if current > 0 then
      reset_after_us = start_us + 2 * period_us - now_us
    elseif previous > 0 then
      reset_after_us = start_us + period_us - now_us
    end
    if allowed then return remaining, 0, reset_after_us end
    if cost > limit.capacity then return remaining, NEVER, reset_after_us end
    local room = limit.capacity - cost - current
    if room >= 0 then
      retry_after_us = start_us + faded_to(limit, previous, room) - now_us
    else  -- not before the current window has become the previous one
      retry_after_us = start_us + period_us + faded_to(limit, current, limit.capacity - cost) - now_us
    end
    return remaining, retry_after_us, reset_after_us
  end

  local function units_used(limit, at, first, second, now_us)
    local index, current, previous = roll(limit, at, first, second, now_us)
    return faded(limit, index, previous, now_us) + current
  end

  local function fresh_at_us(limit, at, first)
    if first > 0 then return (at + 2) * limit.period_us end
    return (at + 1) * limit.period_us
  end

  return {
    charge = charge, explain = explain, units_used = units_used, with_units_used = window_with_units_used,
    fresh_at_us = fresh_at_us,
  }
end
