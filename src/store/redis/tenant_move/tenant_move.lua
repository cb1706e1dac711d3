-- One step of moving a tenant from one server to another, at either end: tenant_move.h explains all of it.
--
--   EVAL script 2 moves journal  operation who move owner lease_ms other  …
--
-- `who`: the letters of the tenant's keys. `move`: 9 digits, the number of this move of the tenant, and 7 letters;
-- `owner`: 16 letters. `other`: the cell at the other end, a newline, the tenant's name. A record is state 1, move 16,
-- owner 16, until_ms 14, other. Returns {state, move, other, owner, state}, as they are afterwards; or another word in
-- the first place, and then nothing has changed: 'busy': another mover is active; 'lost': the record is no longer ours;
-- 'later': the record is of a later move.
local moves, journal = KEYS[1], KEYS[2]
local operation, who, move, owner, lease_ms, other = unpack(ARGV)
local ARGUMENTS, JOURNAL_MS = 6, 60000
local VERSION, FORGOTTEN = '#', 'forgotten-------'
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)

local record = redis.call('HGET', moves, who)
local state, its_move, its_owner, until_ms, its_other = '-', '', '', 0, ''
if record then
  state, its_move, its_owner = string.sub(record, 1, 1), string.sub(record, 2, 17), string.sub(record, 18, 33)
  until_ms, its_other = tonumber(string.sub(record, 34, 47)), string.sub(record, 48)
end
local is_mine, is_live = its_owner == owner, until_ms > now_ms
local is_source = state == 'c' or state == 'f'

-- Whether the record is of a move between the same cells. Whether it has the tenant's name depends on the key secret
-- that was in force when its mover began.
local function cell_of(text) return string.match(text, '^[^\n]*') end
local is_same_way = cell_of(its_other) == cell_of(other)

local function number_of(id) return tonumber(string.sub(id, 1, 9)) or 0 end

-- The move that we propose, numbered after the one that is recorded here.
local function next_move()
  local number = math.max(number_of(move), number_of(its_move) + 1)
  return string.format('%09.0f', number) .. string.sub(move, 10)
end

local function tell(word) return {word, its_move, its_other, its_owner, state} end

local function become(new_state, of_move, by)
  local until_text = string.format('%014.0f', now_ms + lease_ms)
  redis.call('HSET', moves, who, new_state .. of_move .. (by or owner) .. until_text .. other)
  -- A reader that polls reads all records only when this has changed.
  if new_state ~= state or of_move ~= its_move or its_other ~= other then
    redis.call('HSET', moves, VERSION, string.format('%.0f', (tonumber(redis.call('HGET', moves, VERSION)) or 0) + 1))
  end
  return {new_state, of_move, other, by or owner, new_state}
end

local operations = {}

-- At the source. The next mover takes over from one that is late or dead. A frozen tenant may already be open at the
-- other end: only the mover that goes there can find out.
function operations.claim()
  if is_source and is_live and not is_mine then return tell('busy') end
  if state == 'x' or state == 'a' or (state == 'f' and not is_same_way) then return tell(state) end
  redis.call('DEL', journal)
  if is_source and is_same_way then return become(state, its_move) end
  return become('c', next_move())
end

-- The target has forgotten that the tenant has come: it is moved once more, with what was left here.
function operations.reclaim()
  if not (state == 'x' and its_move == move) or its_owner == FORGOTTEN then return tell('lost') end
  return become('f', next_move())
end

-- The target has a record of a later move, by which the tenant came here or has not left here yet: this move is the next.
function operations.raise()
  if not (is_source and is_mine) then return tell('lost') end
  return become(state, next_move())
end

function operations.renew()
  if not (is_source and is_mine and is_live) then return tell('lost') end
  redis.call('PEXPIRE', journal, JOURNAL_MS)
  return become(state, its_move)
end

function operations.freeze()
  if not (is_source and is_mine and is_live) then return tell('lost') end
  return become('f', its_move)
end

-- The target is open. The source may have forgotten the freeze.
function operations.close()
  if state == 'x' and its_move == move then return tell('x') end
  if not (is_source and is_mine and its_move == move) then return tell('lost') end
  redis.call('DEL', journal)
  return become('x', its_move)
end

-- The move is cancelled: the tenant lives here, as before.
function operations.release()
  if not (is_source and is_mine) then return tell('lost') end
  redis.call('DEL', journal)
  return become('o', its_move)
end

-- The tenant lives elsewhere: since the recorded move, if it is this one; else from now on. What is left here will be
-- removed.
function operations.leave()
  local gone = next_move()
  if number_of(move) > 0 then
    local came_by_it = its_move == move and (state == 'o' or state == 'a')
    if number_of(its_move) > number_of(move) or came_by_it then return tell('lost') end
    gone = move
  end
  redis.call('DEL', journal)
  return become('x', gone, FORGOTTEN)
end

-- Removes what is left of a tenant that has gone and has not come back since.
function operations.remove()
  if not (state == 'x' and its_move == move) then return tell('lost') end
  redis.call('UNLINK', unpack(ARGV, ARGUMENTS + 1))
  return tell(state)
end

-- At the target. A record of a later move knows more than the source does. If our number was raised above it, it was
-- known not to be open; it must not have been opened since.
function operations.arrive()
  local is_raised, is_open = ARGV[ARGUMENTS + 1] == 'raised', state == 'o' or is_source
  if its_move == move and not is_source then return state == 'a' and become('a', move) or tell(state) end
  if is_source and is_live then return tell('busy') end
  if number_of(its_move) >= number_of(move) or (is_raised and is_open) then return tell('later') end
  return become('a', move)
end

function operations.look() return tell(state) end

-- Names, values and times to live; without a time to live: a key that is gone.
function operations.write()
  if not (state == 'a' and is_mine) then return tell('lost') end
  for i = ARGUMENTS + 1, #ARGV, 3 do
    local name, value, ttl_ms = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if ttl_ms == '' then
      redis.call('UNLINK', name)
    elseif ttl_ms == '-1' then
      redis.call('SET', name, value)
    else
      redis.call('SET', name, value, 'PX', ttl_ms)
    end
  end
  return tell('a')
end

function operations.open()
  if state == 'o' and its_move == move then return tell('o') end
  if not (state == 'a' and is_mine) then return tell('lost') end
  return become('o', its_move)
end

-- Whatever was before: from now on the tenant lives here.
function operations.settle() return become('o', next_move()) end

return operations[operation]()
