-- Fixed window: at most N units in each window of one period. The twin of fixed_window.h, which explains it.

local WINDOW_UNITS_MAX = 1073741823  -- 2^30 − 1: the count of a window saturates here

local function window_with_units_used(limit, units, now_us)
  if units == 0 then return 0, 0, 0 end
  return math.floor(now_us / limit.period_us), units, 0
end

local function fixed_window_steps()
  local floor = math.floor

  -- The window that contains `now_us`, and its count.
  local function current(limit, at, first, now_us)
    local index = floor(now_us / limit.period_us)
    if first == 0 or at < index then return index, 0 end
    if at > index + 1 then at = index + 1 end  -- the clock has stepped back
    return at, first
  end

  local function charge(limit, at, first, second, now_us, cost, count_denied)
    if limit.capacity == 0 then return false, at, first, second end
    local index, count = current(limit, at, first, now_us)
    local allowed = (cost == 0 and not count_denied) or count + cost <= limit.capacity
    if allowed or count_denied then
      count = count + cost
      if count > WINDOW_UNITS_MAX then count = WINDOW_UNITS_MAX end
    end
    if count == 0 then return allowed, 0, 0, 0 end
    return allowed, index, count, 0
  end

  local function explain(limit, at, first, _, now_us, cost, allowed)
    if limit.capacity == 0 then return 0, NEVER, 0 end
    local index, count = current(limit, at, first, now_us)
    local end_in_us = (index + 1) * limit.period_us - now_us
    local remaining, retry_after_us, reset_after_us = limit.capacity - count, 0, 0
    if remaining < 0 then remaining = 0 end
    if count > 0 then reset_after_us = end_in_us end
    if not allowed then
      retry_after_us = NEVER
      if cost <= limit.capacity then retry_after_us = end_in_us end
    end
    return remaining, retry_after_us, reset_after_us
  end

  local function units_used(limit, at, first, _, now_us)
    local _, count = current(limit, at, first, now_us)
    return count
  end

  local function fresh_at_us(limit, at) return (at + 1) * limit.period_us end

  return {
    charge = charge, explain = explain, units_used = units_used, with_units_used = window_with_units_used,
    fresh_at_us = fresh_at_us,
  }
end
