-- Asks Sluice whether a request may pass. For HAProxy 2.6 and later.
--
--   http-request  lua.sluice open      asks; a refusal is answered at once, as Sluice wrote it
--   http-response lua.sluice_headers   tells the client what is left
--
-- The request to Sluice has every X-Sluice-* header of the request, which the configuration sets, the client's address, the
-- method and the path. Without an answer, "open" allows the request and "closed" refuses it.
--
-- It is sent to HAProxy's own section `listen sluice`, so that timeouts, health checks, connection reuse
-- and the choice among several nodes are set there, as for every other server.

local SLUICE = "abns@sluice"
local TIMEOUT_MS = 1000 -- only a net below the timeouts of `listen sluice`

local function question(txn)
  local headers = {
    ["x-forwarded-for"] = { txn.f:src() },
    ["x-forwarded-method"] = { txn.f:method() },
    ["x-forwarded-uri"] = { txn.f:path() },
  }
  for name, values in pairs(txn.http:req_get_headers()) do
    if name:sub(1, 9) == "x-sluice-" then
      headers[name] = { values[0] }
    end
  end
  return headers
end

-- Answers of Sluice are JSON; an error page of `listen sluice` is not.
local function is_from_sluice(answer)
  local kind = answer and answer.headers and answer.headers["content-type"]
  return kind ~= nil and kind[0]:find("json", 1, true) ~= nil
end

local function is_for_client(name)
  return name == "retry-after" or name:find("^x?%-?ratelimit") ~= nil
end

local function headers_for_client(answer)
  local headers = {}
  for name, values in pairs(answer.headers) do
    if is_for_client(name) then
      headers[name] = values[0]
    end
  end
  return headers
end

local function refuse(txn, status, headers, body)
  local reply = txn:reply({ status = status })
  reply:add_header("content-type", "application/problem+json")
  for name, value in pairs(headers) do
    reply:add_header(name, value)
  end
  reply:set_body(body)
  txn:done(reply)
end

local SILENT = '{"title":"Service Unavailable","status":503,"detail":"the rate limiter gives no answer; try again later"}'
-- HAProxy's token or its request is not accepted: not the client's fault.
local MISCONFIGURED = '{"title":"Internal Server Error","status":500,"detail":"the rate limiter refuses the proxy"}'

core.register_action("sluice", { "http-req" }, function(txn, when_silent)
  local answer = core.httpclient():get({
    url = "http://sluice/v1/authorize",
    dst = SLUICE,
    headers = question(txn),
    timeout = TIMEOUT_MS,
  })
  if not is_from_sluice(answer) then
    if when_silent == "closed" then
      refuse(txn, 503, { ["retry-after"] = "1" }, SILENT)
    end
  elseif answer.status == 200 then
    txn:set_priv(headers_for_client(answer))
  elseif answer.status == 401 or answer.status == 403 then
    refuse(txn, 500, {}, MISCONFIGURED)
  else
    refuse(txn, answer.status, headers_for_client(answer), answer.body)
  end
end, 1)

core.register_action("sluice_headers", { "http-res" }, function(txn)
  for name, value in pairs(txn:get_priv() or {}) do
    txn.http:res_set_header(name, value)
  end
end)
