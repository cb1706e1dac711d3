-- Gives back a charge that was admitted: the twin of refund.h, which explains it.
--
--   refund(limit, at, first, second, now_us, grant)  →  at, first, second
--   refund_log(limit, log, now_us, grant)            →  changed; in place
--
-- `grant` is what is known about the charge: at_us (or ANY_TIME_US), cost, remaining, reset_after_us.

local function refund_steps()
  local floor, max, min = math.floor, math.max, math.min

  -- A saturated count may stand for more than it says.
  local function without(count, cost)
    if count >= WINDOW_UNITS_MAX then return count end
    return max(count - cost, 0)
  end

  -- How long after the grant the bucket is full again, according to the grant's outcome: at least this long. us,
  -- fraction: according to the state; charged_us, charged_fraction: the refill of the charge itself.
  local function queue_end(limit, us, fraction, charged_us, charged_fraction, grant)
    local within = us < limit.full_us or (us == limit.full_us and fraction <= limit.full_remainder)
    if us >= 0 and within then
      local remaining, _, reset_after_us = limit.steps.explain(limit, us, fraction, 0, 0, 0, true)
      if remaining == grant.remaining and reset_after_us == grant.reset_after_us then return us, fraction end
    end
    if grant.reset_after_us - 1 > charged_us then return grant.reset_after_us - 1, 0 end
    return charged_us, charged_fraction
  end

  local function bucket_without(limit, at, first, second, now_us, grant)
    if at < now_us or grant.cost > limit.capacity then return at, first, second end
    local us, fraction = at - now_us, first
    if fraction >= limit.denominator then fraction = limit.denominator - 1 end
    local charged_us, charged_fraction = limit.steps.plus_units(limit, 0, 0, grant.cost)
    local since_us = now_us - grant.at_us
    local given_us, given_fraction = queue_end(limit, us + since_us, fraction, charged_us, charged_fraction, grant)
    given_us = given_us - since_us
    if given_us < 0 then return at, first, second end
    if charged_us < given_us or (charged_us == given_us and charged_fraction < given_fraction) then
      given_us, given_fraction = charged_us, charged_fraction
    end
    if fraction < given_fraction then us, fraction = us - 1, fraction + limit.denominator end
    if us < given_us then return now_us, 0, second end  -- all of it: full
    return now_us + us - given_us, fraction - given_fraction, second
  end

  -- `windows`: in how many windows a count matters, including its own.
  local function window_without(limit, at, first, second, grant, windows)
    local index = max(floor((grant.at_us + grant.reset_after_us) / limit.period_us) - windows,
      floor(grant.at_us / limit.period_us))
    if at == index then
      first = without(first, grant.cost)
    elseif windows == 2 and at == index + 1 then
      second = without(second, grant.cost)
    end
    return at, first, second
  end

  local function without_latest(limit, at, first, second, now_us, cost)
    local _, settled_at, current, previous = limit.steps.charge(limit, at, first, second, now_us, 0, false)
    if limit.algorithm < FIXED_WINDOW then
      local last = {at_us = now_us, cost = min(cost, limit.capacity), remaining = 0, reset_after_us = 0}
      return bucket_without(limit, settled_at, current, previous, now_us, last)
    end
    local rest = without(current, cost)
    return settled_at, rest, without(previous, cost - (current - rest))
  end

  -- → whether there was something to take back
  local function take_latest(log, cost)
    local taken = false
    while cost > 0 and #log > 0 and log[#log] < WINDOW_UNITS_MAX do
      local entry, units = #log - 1, log[#log]
      local rest = without(units, cost)
      cost, taken = cost - (units - rest), true
      log[entry + 1] = rest
      if rest == 0 then log[entry + 1], log[entry] = nil, nil end
    end
    return taken
  end

  local function refund(limit, at, first, second, now_us, grant)
    if limit.capacity == 0 then return at, first, second end
    if grant.at_us == ANY_TIME_US then
      at, first, second = without_latest(limit, at, first, second, now_us, grant.cost)
    elseif limit.algorithm < FIXED_WINDOW then
      at, first, second = bucket_without(limit, at, first, second, now_us, grant)
    else
      local windows = limit.algorithm == FIXED_WINDOW and 1 or 2
      at, first, second = window_without(limit, at, first, second, grant, windows)
    end
    local _
    _, at, first, second = limit.steps.charge(limit, at, first, second, now_us, 0, false)
    return at, first, second
  end

  local function refund_log(limit, log, now_us, grant)
    if limit.capacity == 0 then return false end
    if grant.at_us == ANY_TIME_US then
      local _, changed = limit.steps.fits(limit, log, now_us, 0)
      return take_latest(log, grant.cost) or changed
    end
    local written_us, taken = max(grant.at_us + grant.reset_after_us - limit.period_us, grant.at_us), false
    for i = 1, #log, 2 do
      if log[i] == written_us then
        local rest = without(log[i + 1], grant.cost)
        taken = rest < log[i + 1]
        log[i + 1] = rest
        if rest == 0 then
          table.remove(log, i)
          table.remove(log, i)
        end
        break
      end
    end
    local _, settled = limit.steps.fits(limit, log, now_us, 0)
    return taken or settled
  end

  return refund, refund_log
end
