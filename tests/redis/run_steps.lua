-- Appended to the steps: reads what to do from the standard input, line by line, and prints what came of it.
--
--   fresh
--   limit ALGORITHM COUNT PERIOD_US CAPACITY SCALE DENOMINATOR INTERVAL_US INTERVAL_REMAINDER FULL_US FULL_REMAINDER
--   row NOW_US COST COUNT_DENIED                                       →  ALLOWED REMAINING RETRY_AFTER_US RESET_AFTER_US STATE…
--   refund NOW_US GRANTED_AT_US COST GRANTED_REMAINING GRANTED_RESET   →  the same, by a look afterwards

local touch, tell, given = migration()
local refund, refund_log = refund_steps()
local limit, kept_by, kept  -- kept_by nil: fresh

local function numbers_of(line)
  local numbers = {}
  for word in string.gmatch(line, '%d+') do numbers[#numbers + 1] = tonumber(word) end
  return numbers
end

local function print_numbers(numbers)
  for i = 1, #numbers do numbers[i] = string.format('%.0f', numbers[i]) end
  print(table.concat(numbers, ' '))
end

local function is_log(of) return of.algorithm == SLIDING_LOG end

local function same_numbers(a, b)
  local is_window = a.algorithm >= FIXED_WINDOW and not is_log(a) and a.capacity > 0 and b.capacity > 0
  return a.algorithm == b.algorithm and a.period_us == b.period_us and a.scale == b.scale and
    (is_window or a.count == b.count and a.capacity == b.capacity)
end

local function begin()
  if not kept_by then kept = is_log(limit) and {log = {}} or {0, 0, 0} end
  if not kept_by or same_numbers(kept_by, limit) then kept_by = limit end
end

local function show(allowed, remaining, retry, reset)
  print_numbers({allowed and 1 or 0, remaining, retry, reset, unpack(kept.log or kept)})
end

local function row(now_us, cost, count_denied)
  begin()
  local steps, moved, allowed = limit.steps
  if kept_by ~= limit then
    moved, kept, allowed = touch(kept_by, limit, kept, now_us, cost, count_denied, true)
    if not moved then return show(allowed, tell(kept_by, limit, kept, now_us, cost, count_denied)) end
    kept_by = limit
  elseif is_log(limit) then
    allowed = steps.charge(limit, kept.log, now_us, cost, count_denied)
  else
    local at, first, second
    allowed, at, first, second = steps.charge(limit, kept[1], kept[2], kept[3], now_us, cost, count_denied)
    kept = {at, first, second}
  end
  if is_log(limit) then return show(allowed, steps.explain(limit, kept.log, now_us, cost, allowed)) end
  show(allowed, steps.explain(limit, kept[1], kept[2], kept[3], now_us, cost, allowed))
end

local function give_back(now_us, grant)
  begin()
  if kept_by ~= limit then grant.cost, grant.remaining, grant.reset_after_us = given(kept_by, limit, grant), 0, 0 end
  if is_log(kept_by) then
    refund_log(kept_by, kept.log, now_us, grant)
  else
    kept = {refund(kept_by, kept[1], kept[2], kept[3], now_us, grant)}
  end
  if kept_by ~= limit then return row(now_us, 0, false) end
  local explain = limit.steps.explain
  if is_log(limit) then return show(limit.capacity > 0, explain(limit, kept.log, now_us, 0, limit.capacity > 0)) end
  show(limit.capacity > 0, explain(limit, kept[1], kept[2], kept[3], now_us, 0, limit.capacity > 0))
end

for line in io.lines() do
  local n = numbers_of(line)
  if string.find(line, 'fresh') then
    kept_by = nil
  elseif string.find(line, 'limit') then
    limit = {algorithm = n[1], count = n[2], period_us = n[3], capacity = n[4], scale = n[5], denominator = n[6],
      interval_us = n[7], interval_remainder = n[8], full_us = n[9], full_remainder = n[10], steps = algorithms[n[1] + 1]()}
  elseif string.find(line, 'refund') then
    give_back(n[1], {at_us = n[2], cost = n[3], remaining = n[4], reset_after_us = n[5]})
  else
    row(n[1], n[2], n[3] == 1)
  end
end
