-- Appended to the steps: reads what to do from the standard input, line by line, and prints what came of it.
--
--   fresh
--   limit ALGORITHM CAPACITY DENOMINATOR INTERVAL_US INTERVAL_REMAINDER FULL_US FULL_REMAINDER PERIOD_US ON_CHANGE
--   migrate NOW_US          to the limit of the last line, from the one before
--   row NOW_US COST COUNT_DENIED                                       →  ALLOWED REMAINING RETRY_AFTER_US RESET_AFTER_US STATE…
--   refund NOW_US GRANTED_AT_US COST GRANTED_REMAINING GRANTED_RESET   →  the same, by a look afterwards

local limit, former
local migrate, _, migrate_log = migration()
local refund, refund_log = refund_steps()
local at, first, second, log = 0, 0, 0, {}

local function numbers_of(line)
  local numbers = {}
  for word in string.gmatch(line, '%d+') do numbers[#numbers + 1] = tonumber(word) end
  return numbers
end

local function print_numbers(numbers)
  for i = 1, #numbers do numbers[i] = string.format('%.0f', numbers[i]) end
  print(table.concat(numbers, ' '))
end

local function tell(now_us, cost, allowed)
  local steps, remaining, retry, reset = limit.steps
  if limit.algorithm == SLIDING_LOG then
    remaining, retry, reset = steps.explain(limit, log, now_us, cost, allowed)
    return print_numbers({allowed and 1 or 0, remaining, retry, reset, unpack(log)})
  end
  remaining, retry, reset = steps.explain(limit, at, first, second, now_us, cost, allowed)
  print_numbers({allowed and 1 or 0, remaining, retry, reset, at, first, second})
end

local function row(now_us, cost, count_denied)
  local allowed
  if limit.algorithm == SLIDING_LOG then
    allowed = limit.steps.charge(limit, log, now_us, cost, count_denied)
  else
    allowed, at, first, second = limit.steps.charge(limit, at, first, second, now_us, cost, count_denied)
  end
  tell(now_us, cost, allowed)
end

local function give_back(now_us, grant)
  if limit.algorithm == SLIDING_LOG then
    refund_log(limit, log, now_us, grant)
  else
    at, first, second = refund(limit, at, first, second, now_us, grant)
  end
  tell(now_us, 0, limit.capacity > 0)
end

for line in io.lines() do
  local n = numbers_of(line)
  if string.find(line, 'fresh') then
    at, first, second, log = 0, 0, 0, {}
  elseif string.find(line, 'limit') then
    former = limit
    limit = {algorithm = n[1], capacity = n[2], denominator = n[3], interval_us = n[4], interval_remainder = n[5],
      full_us = n[6], full_remainder = n[7], period_us = n[8], on_change = n[9], steps = algorithms[n[1] + 1]()}
  elseif string.find(line, 'migrate') then
    if limit.algorithm == SLIDING_LOG then
      migrate_log(former, limit, log, n[1])
    else
      at, first, second = migrate(former, limit, at, first, second, n[1])
    end
  elseif string.find(line, 'refund') then
    give_back(n[1], {at_us = n[2], cost = n[3], remaining = n[4], reset_after_us = n[5]})
  else
    row(n[1], n[2], n[3] == 1)
  end
end
