-- Sliding log: at most N units in any period, exactly. The twin of sliding_log.h, which explains it.
--
-- A log is a flat array, oldest first: time, cost, time, cost, … The steps change it in place:
--
--   fits(limit, log, now_us, cost)                  →  allowed, changed; charges nothing, forgets what is too old
--   charge(limit, log, now_us, cost, count_denied)  →  allowed, changed
--   explain(limit, log, now_us, cost, allowed)      →  remaining, retry_after_us, reset_after_us; after one of these
--   units_used(limit, log, now_us)                  →  whole units in use, at most the capacity
--   settle(limit, log, now_us)                      →  the effective time, changed; forgets what is too old
--   append(log, at_us, cost)                        REQUIRES: not older than the newest

local function sliding_log_steps()
  local function total(log)
    local sum = 0
    for i = 2, #log, 2 do sum = sum + log[i] end
    return sum
  end

  local function append(log, at_us, cost)
    local size = #log
    if size > 0 and log[size - 1] == at_us then
      cost = cost + log[size]
      if cost > WINDOW_UNITS_MAX then cost = WINDOW_UNITS_MAX end
      log[size] = cost
    else
      log[size + 1] = at_us
      log[size + 2] = cost
    end
  end

  -- Drops the first `size` numbers.
  local function drop(log, size)
    local old_size = #log
    for i = size + 1, old_size do log[i - size] = log[i] end
    for i = old_size, old_size - size + 1, -1 do log[i] = nil end
  end

  -- Entries from a clock that has since stepped back stay, but at most at `latest_us`.
  local function pull_back(log, latest_us)
    local ahead, size = 0, #log
    while size > 0 and log[size - 1] > latest_us do
      ahead = ahead + log[size]
      if ahead > WINDOW_UNITS_MAX then ahead = WINDOW_UNITS_MAX end
      log[size], log[size - 1] = nil, nil
      size = size - 2
    end
    if ahead > 0 then append(log, latest_us, ahead) end
    return ahead > 0
  end

  -- Forgets entries that are a period old. Returns the effective time (never before the newest entry), and whether
  -- the log has changed.
  local function settle(limit, log, now_us)
    local changed = pull_back(log, now_us + limit.period_us)
    local size, time_us = #log, now_us
    if size > 0 and log[size - 1] > now_us then time_us = log[size - 1] end
    local dead, oldest_us = 0, time_us - limit.period_us
    while dead < size and log[dead + 1] <= oldest_us do dead = dead + 2 end
    if dead > 0 then drop(log, dead) end
    return time_us, changed or dead > 0
  end

  -- Entries beyond the newest `capacity` units decide nothing.
  local function drop_surplus(limit, log)
    local sum, surplus, size = total(log), 0, #log
    while surplus < size and sum - log[surplus + 2] >= limit.capacity do
      sum = sum - log[surplus + 2]
      surplus = surplus + 2
    end
    if surplus > 0 then drop(log, surplus) end
  end

  -- → allowed, changed. Charges nothing.
  local function fits(limit, log, now_us, cost)
    if limit.capacity == 0 then return false, false end
    local _, changed = settle(limit, log, now_us)
    return cost == 0 or total(log) + cost <= limit.capacity, changed
  end

  -- → allowed, changed
  local function charge(limit, log, now_us, cost, count_denied)
    if limit.capacity == 0 then return false, false end
    local time_us, changed = settle(limit, log, now_us)
    local allowed = cost == 0 or total(log) + cost <= limit.capacity
    if cost == 0 or not (allowed or count_denied) then return allowed, changed end
    append(log, time_us, cost)
    if not allowed then drop_surplus(limit, log) end
    return allowed, true
  end

  -- For a settled log. → remaining, retry_after_us, reset_after_us
  local function explain(limit, log, now_us, cost, allowed)
    if limit.capacity == 0 then return 0, NEVER, 0 end
    local sum, size, period_us = total(log), #log, limit.period_us
    local remaining, retry_after_us, reset_after_us = limit.capacity - sum, 0, 0
    if remaining < 0 then remaining = 0 end
    if size > 0 then reset_after_us = log[size - 1] + period_us - now_us end
    if allowed then return remaining, 0, reset_after_us end
    if cost > limit.capacity then return remaining, NEVER, reset_after_us end
    local excess, entry = sum + cost - limit.capacity - log[2], 1
    while excess > 0 do
      entry = entry + 2
      excess = excess - log[entry + 1]
    end
    return remaining, log[entry] + period_us - now_us, reset_after_us
  end

  -- Whole units in use. Settles the log.
  local function units_used(limit, log, now_us)
    settle(limit, log, now_us)
    return math.min(total(log), limit.capacity)
  end

  return {fits = fits, charge = charge, explain = explain, units_used = units_used, settle = settle, append = append}
end
