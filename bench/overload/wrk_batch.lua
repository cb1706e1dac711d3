-- Batches of 1000 checks, each on one of so many keys, until wrk ends: wrk … -s wrk_batch.lua URL -- keys. At the end one line:
-- how many answers, how many of them 503 (all of the batch was shed), how many other errors.
local bodies = {}
shed, others = 0, 0  -- of this thread; not local, so that done() can ask for them
local threads = {}

function setup(thread) table.insert(threads, thread) end

function init(args)
  local keys = tonumber(args[1])
  math.randomseed(1)
  for i = 1, keys == 1 and 1 or 50 do
    local checks = {}
    for j = 1, 1000 do
      checks[j] = string.format('{"tenant_id":"whale","resource":"/scarce","key":"k%d"}', math.random(keys))
    end
    bodies[i] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, '{"checks":[' .. table.concat(checks, ",") .. ']}')
  end
end

function request() return bodies[math.random(#bodies)] end

function response(status)
  if status == 503 then shed = shed + 1 elseif status ~= 200 then others = others + 1 end
end

function done(summary)
  local s, o = 0, 0
  for _, thread in ipairs(threads) do s, o = s + thread:get("shed"), o + thread:get("others") end
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d\n", summary.requests, s, o + e.connect + e.read + e.write + e.timeout))
end
