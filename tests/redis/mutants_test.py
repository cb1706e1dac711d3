"""The vectors are only worth what they notice: each of these small mistakes in the Lua must make at least one row fail."""

import random

import near_misses
import pytest
import redis
import stamps_test
import steps
import vectors
import when_full_test
from batches_test import compare
from script import Script
from script_vectors_test import run

# file, what stands there, the mistake
IN_STEPS = [
    ("gcra.lua", "after_fraction <= full_fraction) then", "after_fraction < full_fraction) then"),
    ("gcra.lua", "if after_us < full_us or", "if after_us <= full_us or"),
    ("gcra.lua", "if cost <= capacity then", "if cost < capacity then"),
    ("gcra.lua", "after_us + carry, after_fraction - carry", "after_us, after_fraction - carry"),
    ("gcra.lua", "if us < 0 then", "if us < -1000 then"),
    ("gcra.lua", "if us > full_us or (us == full_us and fraction > full_fraction) then us, fraction = full_us",
     "if us < 0 then us, fraction = full_us"),
    ("gcra.lua", "if count_denied then us, fraction = full_us", "if false then us, fraction = full_us"),
    ("gcra.lua", "retry_after_us = retry_after_us + 1", "retry_after_us = retry_after_us + 0"),
    ("gcra.lua", "if fraction > 0 then reset_after_us = us + 1", "if fraction > 1 then reset_after_us = us + 1"),
    ("gcra.lua", "return limit.capacity - remaining_units(", "return limit.capacity + 1 - remaining_units("),
    ("gcra.lua", "units_fraction > fraction) then return units - 1", "units_fraction > fraction) then return units"),
    ("gcra.lua", "units_fraction <= fraction) then return units + 1", "units_fraction <= fraction) then return units"),
    ("leaky_bucket.lua", "second, now_us) + cost", "second, now_us) + 1"),
    ("leaky_bucket.lua", "if cost > 0 then return true, new_at, new_first, 0 end", ""),
    ("leaky_bucket.lua", "now_us - at >= memory_us(limit)", "now_us - at > memory_us(limit)"),
    ("leaky_bucket.lua", "then return limit.full_us + 1 end", "then return limit.full_us end"),
    ("leaky_bucket.lua", "if new_at < now_us then new_at = now_us end", ""),
    ("leaky_bucket.lua", "and at == 0 and first == 0 then at = dated_us end", "and false then at = dated_us end"),
    ("leaky_bucket.lua", "if limit.capacity == 0 then return new_at, new_first, 0 end", ""),
    ("fixed_window.lua", "count + cost <= limit.capacity", "count + cost < limit.capacity"),
    ("fixed_window.lua", "cost == 0 and not count_denied", "cost == 0"),
    ("fixed_window.lua", "if first == 0 or at < index", "if first == 0 or at ~= index"),
    ("fixed_window.lua", "if at > index + 1 then", "if at > index + 2 then"),
    ("sliding_window.lua", "cost == 0 and not count_denied", "cost == 0"),
    ("sliding_window.lua", "if rest > period_us then return units + 2 end\n    return units + 1", "return units"),
    ("sliding_window.lua", "if rest > period_us then return units + 2 end", ""),
    ("sliding_window.lua", "product_difference(previous, left_us, units, period_us)",
     "previous * left_us - units * period_us"),
    ("sliding_window.lua", "weighs_us = weighs_us - 1", "weighs_us = weighs_us"),
    ("sliding_window.lua", "weighs_us = weighs_us + 1", "weighs_us = weighs_us"),
    ("sliding_window.lua", "if at == index - 1 then return index, 0, first", "if at == index - 1 then return index, first, 0"),
    ("sliding_window.lua", "if elapsed_us <= 0 then return previous end", "if elapsed_us <= 0 then return 0 end"),
    ("sliding_window.lua", "return limit.period_us - weighs_us", "return limit.period_us - weighs_us + 1"),
    ("sliding_window.lua", "if room >= 0 then", "if room > 0 then"),
    ("sliding_log.lua", "log[dead + 1] <= oldest_us", "log[dead + 1] < oldest_us"),
    ("sliding_log.lua", "if not allowed then drop_surplus", "if false then drop_surplus"),
    ("sliding_log.lua", "pull_back(log, now_us + limit.period_us)", "pull_back(log, now_us + 2 * limit.period_us)"),
    ("sliding_log.lua", "while excess > 0 do", "while excess >= 0 do"),
    ("migrate.lua", "a.interval_us == b.interval_us", "a.capacity == b.capacity"),
    ("migrate.lua", "if is_leaky(from) and is_leaky(to) then\n      -- Its", "if is_leaky(from) and not is_leaky(to) then\n      -- Its"),
    ("migrate.lua", "math.ceil(((product", "floor(((product"),
    ("migrate.lua", "* DIGIT + low * to)", "* DIGIT)"),
    ("migrate.lua", "from.scale > 0 and to.scale > 0 and from.scale ~= to.scale", "from.scale > 0 and to.scale > 0 and from.capacity ~= to.capacity"),
    ("migrate.lua", "from.scale > 0 and to.scale > 0 and from.scale ~= to.scale", "to.scale > 0 and from.scale ~= to.scale"),
    ("migrate.lua", "return scaled(units, to.scale, from.scale)", "return scaled(math.min(units, from.capacity), to.scale, from.scale)"),
    ("migrate.lua", "return scaled(units, to.scale, from.scale)", "return scaled(units, to.capacity, from.capacity)"),
    ("migrate.lua", "return scaled(units, to.scale, from.scale)", "return math.ceil(units * to.scale / from.scale)"),
    ("migrate.lua", "return scaled_down(room, from.scale, to.scale)", "return scaled(room, from.scale, to.scale)"),
    ("migrate.lua", "return scaled_down(room, from.scale, to.scale)", "return room"),
    ("migrate.lua", "if scaled(up, from, to) > units then return up - 1 end", ""),
    ("migrate.lua", "min(grant.cost, scaled_down(grant.cost, kept_by.scale, limit.scale))", "scaled_down(grant.cost, kept_by.scale, limit.scale)"),
    ("migrate.lua", "min(grant.cost, scaled_down(grant.cost, kept_by.scale, limit.scale))", "grant.cost"),
    ("migrate.lua", "if grant.at_us ~= ANY_TIME_US or limit.capacity == 0 then return 0 end", "if grant.at_us ~= ANY_TIME_US then return 0 end"),
    ("migrate.lua", "if is_scaled(from, to) then log = share_of(from, to, log) end", ""),
    ("migrate.lua", "if not is_scaled(from, to) and same_meter(from, to) then\n      if", "if same_meter(from, to) then\n      if"),
    ("migrate.lua", "if not is_scaled(from, to) and is_bucket(to)", "if is_bucket(to)"),
    ("migrate.lua", "newer = newer + log[i]", "newer = log[i]"),
    ("migrate.lua", "us, fraction, whole = to.full_us, to.full_remainder, false", "us, fraction = to.full_us, to.full_remainder"),
    ("migrate.lua", "with_units_used(to, units, now_us), units <= to.capacity", "with_units_used(to, units, now_us), true"),
    ("migrate.lua", "return {log = merged}, total(merged) <= to.capacity", "return {log = merged}, true"),
    ("migrate.lua", "max(log[i], oldest_us)", "log[i]"),
    ("migrate.lua", "retry_after_us < stays_us(", "retry_after_us > stays_us("),
    ("migrate.lua", "then retry_after_us = stays_us(from, to, kept, now_us, cost) end", "then end"),
    ("migrate.lua", "return false, level, allowed", "return false, kept, allowed"),
    ("migrate.lua", "if moves or is_idle(from, kept, now_us) then", "if moves then"),
    ("migrate.lua", "a_fraction > b_fraction then us = us + 1", "a_fraction > b_fraction then us = us"),
    ("refund.lua", "if count >= WINDOW_UNITS_MAX then return count end", ""),
    ("refund.lua", "fraction <= limit.full_remainder)", "fraction < limit.full_remainder)"),
    ("refund.lua", "if remaining == grant.remaining and reset_after_us", "if reset_after_us"),
    ("refund.lua", "reset_after_us == grant.reset_after_us then", "false then"),
    ("refund.lua", "then return grant.reset_after_us - 1, 0 end", "then return grant.reset_after_us, 0 end"),
    ("refund.lua", "if grant.reset_after_us - 1 > charged_us then return grant.reset_after_us - 1, 0 end", ""),
    ("refund.lua", "return charged_us, charged_fraction\n", "return charged_us, 0\n"),
    ("refund.lua", "given_us = given_us - since_us", "given_us = given_us"),
    ("refund.lua", "if given_us < 0 then return at, first, second end", ""),
    ("refund.lua", "charged_fraction < given_fraction) then", "charged_fraction > given_fraction) then"),
    ("refund.lua", "us, fraction = us - 1, fraction + limit.denominator end", "us, fraction = us, fraction + limit.denominator end"),
    ("refund.lua", "local index = max(floor((grant.at_us + grant.reset_after_us) / limit.period_us) - windows,\n",
     "local index = max(0,\n"),
    ("refund.lua", "elseif windows == 2 and at == index + 1 then", "elseif false then"),
    ("refund.lua", "_, at, first, second = limit.steps.charge(limit, at, first, second, now_us, 0, false)", ""),
    ("refund.lua", "        if rest == 0 then\n          table.remove", "        if false then\n          table.remove"),
    ("refund.lua", "if grant.at_us == ANY_TIME_US then\n      at, first", "if false then\n      at, first"),
    ("refund.lua", "cost = min(cost, limit.capacity)", "cost = cost"),
    ("refund.lua", "without(previous, cost - (current - rest))", "previous"),
    ("refund.lua", "cost, taken = cost - (units - rest), true", "cost, taken = 0, true"),
    ("refund.lua", "return take_latest(log, grant.cost) or changed", "return changed"),
    ("refund.lua", "local _, settled = limit.steps.fits(limit, log, now_us, 0)", "local settled"),
    ("refund.lua", "max(grant.at_us + grant.reset_after_us - limit.period_us, grant.at_us)", "grant.at_us"),
]

IN_SCRIPT = [
    ("local state = pack(limit.form, at, first)", "local state = pack(limit.form, at, 0)"),
    ("local state = struct.pack(limit.form, at, first)", "local state = struct.pack(limit.form, at, 0)"),
    ("return keep_moving(entry, entry.warned)", "return values[key]"),
    ("entry.moving, entry.from, entry.kept = true, from, kept", "entry.moving, entry.from, entry.kept = true, limit, kept"),
    ("if from.stamp ~= limit.stamp then", "if from.algorithm ~= limit.algorithm then"),
    ("then stamp = stamp_of(numbers) end", "then end"),
    ("return limit.stamp .. state .. struct.pack('>I4', second)", "return limit.stamp .. state"),
    ("values[this_key] = limit.stamp .. state .. pack('>I4', second)", "values[this_key] = limit.stamp .. state"),
    ("if repeats == REFUND then", "if false then"),
    ("if charge(limit, at, first, second, now_us, 0, count_denied == 1) then admitted", "if limit.capacity > 0 then admitted"),
    ("refund_log(limit, entry.log, now_us, entry.grant) or entry.changed", "entry.changed"),
    ("{at_us = granted_at_us, cost", "{at_us = now_us, cost"),
    ("if entry.cost > 0 then values[entry.key] =", "if true then values[entry.key] ="),
    ("moment = ceil(moment / grain) * grain", "moment = math.floor(moment / grain) * grain"),
    ("struct.pack('>BI4I7I7I3', flags, remaining, retry_after_us + 1", "struct.pack('>BI4I7I7I3', flags, remaining, retry_after_us"),
    ("limit.fresh_at_us(limit, at, first, second)", "limit.fresh_at_us(limit, at, first, 0)"),
    ("redis.call, struct.pack", "redis.call, function(f, ...) return struct.pack(f, ...) .. 'x' end"),
]

IN_BATCHES = [
    ("local step = may_calm and 1 or repeats", "local step = repeats"),
    ("admitted = admitted + step", "admitted = admitted + 1"),
    ("until key ~= this_key or header ~= 1", "until header ~= 1"),
    ("elseif not leaves_trace then", "else"),
    ("leaves_trace = leaves_trace or entries[i].count_denied or", "leaves_trace = leaves_trace or"),
]

# What only values of all kinds show.
IN_STAMPS = [
    # stamps.lua
    ("if algorithm >= FIXED_WINDOW and capacity > 0 then count, capacity = 1, 1 end", ""),
    ("if scale == 0 then return struct.pack('>BI4I6I4', FULL", "if true then return struct.pack('>BI4I6I4', FULL"),
    ("FULL + HAS_SCALE + algorithm, count", "FULL + algorithm, count"),
    ("LOG, limit.count, limit.period_us, scale)", "LOG, limit.count, limit.period_us, 0)"),
    ("1, 100, 1000, 5000, 10000, 15000, 30000, 60000", "1, 100, 1000, 5000, 10000, 15000, 60000, 30000"),
    ("604800000, 2592000000", "604800000, 2678400000"),
    ("local numbers = stamp % 16777216", "local numbers = stamp % 8388608"),
    ("if words % 2 == 1 then", "if words % 2 == 0 then"),
    ("floor(bits / 4) * 10 ^ (bits % 4)", "floor(bits / 4) * 10 * (bits % 4)"),
    ("rounded(floor(numbers / 4096)), rounded(numbers % 4096)", "rounded(numbers % 4096), rounded(floor(numbers / 4096))"),
    ("floor(words / 32) % 4", "floor(words / 32) % 2"),
    ("short_period_us(floor(words / 2) % 16)", "short_period_us(floor(words / 2) % 8)"),
    ("kind >= SHORT_BUCKET + 32 * FIXED_WINDOW then", "false then"),
    ("if size < 4 or kind", "if kind"),
    ("if kind > LOG + 1 or size < LOG_BYTES then return nil end", "if size < LOG_BYTES then return nil end"),
    ("if kind > LOG + 1 or size < LOG_BYTES then return nil end", "if kind > LOG + 1 then return nil end"),
    ("FULL_BYTES + (kind % 16 >= HAS_SCALE and 4 or 0)", "FULL_BYTES"),
    ("if kind >= FULL + 16 or kind", "if kind"),
    ("kind % HAS_SCALE >= SLIDING_LOG or", ""),
    ("kind % HAS_SCALE >= SLIDING_LOG or size < bytes then", "kind % HAS_SCALE >= SLIDING_LOG then"),
    ("and struct.unpack('>I4', value, 16) or 0", "and 1 or 0"),
    ("kind >= SHORT_WINDOW and kind < 3 * SHORT_WINDOW then", "kind >= SHORT_WINDOW then"),
    ("kind >= SHORT_WINDOW and kind < 3 * SHORT_WINDOW then", "kind < 3 * SHORT_WINDOW then"),
    ("FIXED_WINDOW - 1 + floor(kind / 16)", "FIXED_WINDOW"),
    ("short_period_us(kind % 16)", "short_period_us(0)"),
    ("local divisor = gcd(numbers.count, numbers.period_us)", "local divisor = 1"),
    ("return numbers.full_us < EXACT_MAX / 2", "return true"),
    ("floor((EXACT_MAX - 1 - denominator) / remainder) then", "floor((EXACT_MAX - 1) / remainder) + 1 then"),
    ("capacity * interval_us + carry, capacity", "capacity * interval_us, capacity"),
    ("if count < 1 or count", "if count"),
    ("or count > RATE_MAX", ""),
    ("or capacity > RATE_MAX", ""),
    ("or numbers.scale > RATE_MAX", ""),
    ("period_us < PERIOD_US_MIN or", ""),
    ("or period_us > PERIOD_US_MAX", "or false"),
    ("capacity > LOG_MAX or", ""),
    ("(count > 1 or capacity > 1)", "false"),
    # limits.lua
    ("kind >= SHORT_BUCKET and '>I7B' or '>I7I4'", "'>I7I4'"),
    ("stamp = string.sub(stamp, 1, 1)", ""),
    ("local stamp = string.sub(value, 1, bytes)", "local stamp = string.sub(value, 1, 1)"),
    # counters.lua and decide.lua
    ("string.char(string.byte(state) + WARNED_BYTE)", "string.char(string.byte(state))"),
    ("if warned then state = string.char(string.byte(state) + WARNED_BYTE) .. sub(state, 2) end",
     "if warned then state = pack(limit.form, at + WARNED, first) end"),
    ("if warned then state = string.char(string.byte(state) + WARNED_BYTE) .. string.sub(state, 2) end",
     "if warned then state = struct.pack(limit.form, at + WARNED, first) end"),
    ("return {high % WARNED_BYTE * BYTE_OF_AT + low, first, second}", "return {at - WARNED, first, second}"),
    ("at, warned = high % WARNED_BYTE * BYTE_OF_AT + low, high >= WARNED_BYTE", "at, warned = at - WARNED, true"),
    ("if warned then stamp = string.char(LOG + 1)", "if false then stamp = string.char(LOG + 1)"),
    ("string.byte(value) > LOG", "false"),
    ("if (size - LOG_BYTES) % LOG_ENTRY_BYTES ~= 0 then return nil end", ""),
    ("if #value ~= plain_bytes and #value ~= plain_bytes + 4 then return nil end", ""),
    ("#value ~= plain_bytes + 4 then", "true then"),
    ("(#value - limit.stamp_bytes == limit.state_bytes or #value", "(#value >= limit.state_bytes or #value"),
]

WHEN_FULL = [
    ("if ARGV[4] and reply[counter_keys + 2] == 0 then return reply end", ""),
    ("if ARGV[4] and reply", "if reply"),
    ("if ARGV[4] and reply[counter_keys + 2] == 0", "if ARGV[4]"),
    ("if value and not before then", "if false then"),
    ("if value and not before then", "if not before then"),
    ("elseif value and #value > #before and", "elseif value and"),
    ("elseif value and #value > #before and", "elseif false and"),
    ("and string.byte(value) >= LOG and string.byte(value) <= LOG + 1 then", "then"),
    ("string.byte(value) <= LOG + 1 then", "string.byte(value) <= LOG then"),
    ("if record.ttl_ms then", "if false then"),
    ("#new_counters + #longer_logs + #new_ids > 0", "#new_counters + #longer_logs > 0"),
    ("#new_counters + #longer_logs + #new_ids > 0", "#new_counters + #new_ids > 0"),
    ("redis.pcall('DEL', KEYS[1] .. '!')", ""),
]

ROWS = [row for name in vectors.ALGORITHMS for row in vectors.from_file(name)]
SEED_FOR_MUTANTS = 2


def mutate(text, old, new):
    assert text.count(old) >= 1, f"no longer there, choose another mistake: {old}"
    return text.replace(old, new)


@pytest.fixture(scope="module")
def rows():
    return ROWS + vectors.at_random(SEED_FOR_MUTANTS, 100) + near_misses.rows(random.Random(SEED_FOR_MUTANTS), 300)


@pytest.mark.parametrize("file, old, new", IN_STEPS)
def test_a_mistake_in_a_step_is_noticed(file, old, new, rows, tmp_path):
    parts = steps.source()
    parts[file] = mutate(parts[file], old, new)
    assert steps.differences(rows, parts, tmp_path)


@pytest.mark.parametrize("old, new", IN_SCRIPT)
def test_a_mistake_in_the_script_is_noticed(old, new, rows, client):
    mutant = Script(client, mutate(steps.redis_script.build(), old, new))
    with pytest.raises((AssertionError, redis.ResponseError)):
        run(rows, mutant, client)


@pytest.mark.parametrize("old, new", IN_BATCHES)
def test_a_mistake_in_the_merging_is_noticed(old, new, client):
    mutant = Script(client, mutate(steps.redis_script.build(), old, new))
    with pytest.raises(AssertionError):
        compare(mutant, client, SEED_FOR_MUTANTS, 200)


@pytest.mark.parametrize("old, new", IN_STAMPS)
def test_a_mistake_in_the_values_is_noticed(old, new, client):
    mutant = Script(client, mutate(steps.redis_script.build(), old, new))
    with pytest.raises((AssertionError, redis.ResponseError)):
        stamps_test.check_all(mutant, client, SEED_FOR_MUTANTS)


@pytest.mark.parametrize("old, new", WHEN_FULL)
def test_a_mistake_in_what_a_full_server_is_asked_is_noticed(old, new, script, client):
    mutant = Script(client, mutate(steps.redis_script.build(when_full=True), old, new))
    with pytest.raises((AssertionError, redis.ResponseError, pytest.fail.Exception)):
        when_full_test.compare(script, mutant, client, SEED_FOR_MUTANTS, 200)
