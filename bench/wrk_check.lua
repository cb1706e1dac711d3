-- Checks with varying keys, the same for both servers: POST /v1/ratelimit/check, 100,000 keys uniform. At the end one
-- line for bench/run: how many answers, how many errors.
local head = "POST /v1/ratelimit/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n"
local body = '{"tenant_id":"bench","resource":"/bench","key":"k000%06d"}'
local requests = {}
local keys = 100000

function init()
  math.randomseed(1)
  for i = 0, keys - 1 do
    requests[i] = head .. string.format(body, i)
  end
end

function request() return requests[math.random(0, keys - 1)] end

function done(summary)
  local e = summary.errors
  io.write(string.format("RESULT %d %d\n", summary.requests, e.connect + e.read + e.write + e.status + e.timeout))
end
