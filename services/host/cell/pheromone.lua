-- One pheromone vector of one cell, changed in Redis just as the brain changes its own (placement/pheromone.py).
--
-- KEYS[1]  the vector: a hash with the probability (p/NAME) and the prior (q/NAME) of each neighbour, trip statistics,
--          and who wrote it last, up to which of their deeds
-- ARGV     parameters (msgpack), the writer, the number of deeds written before, deeds (msgpack), the writer's time in ms
-- Returns 1 when the deeds are in, also if they already were; 0 when the vector is not the one they follow upon: the
-- writer then sends it whole.

local key = KEYS[1]
local params = cmsgpack.unpack(ARGV[1])
local writer, before, deeds = ARGV[2], tonumber(ARGV[3]), cmsgpack.unpack(ARGV[4])
local now_ms = tonumber(ARGV[5])

local names, p, q, trips = {}, {}, {}, {}

local function number(text)
  if text == 'inf' then return math.huge end
  return tonumber(text)
end

local function text(value)
  if value == math.huge then return 'inf' end
  return string.format('%.17g', value)
end

local function load()
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local kind, name = string.sub(flat[i], 1, 2), string.sub(flat[i], 3)
    if kind == 'p/' then names[#names + 1] = name; p[name] = number(flat[i + 1])
    elseif kind == 'q/' then q[name] = number(flat[i + 1])
    elseif flat[i] ~= 'writer' and flat[i] ~= 'deeds' then trips[flat[i]] = number(flat[i + 1]) end
  end
  table.sort(names)
end

local function store(written)
  local flat = {'writer', writer, 'deeds', text(written)}
  for name, value in pairs(trips) do flat[#flat + 1] = name; flat[#flat + 1] = text(value) end
  for _, name in ipairs(names) do
    flat[#flat + 1] = 'p/' .. name; flat[#flat + 1] = text(p[name])
    flat[#flat + 1] = 'q/' .. name; flat[#flat + 1] = text(q[name])
  end
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(flat))
  local left_ms = params.expires_after_ms - (now_ms - trips.refreshed_ms)
  if left_ms < 1e15 then redis.call('PEXPIRE', key, string.format('%.0f', math.max(1, left_ms))) end
end

-- Scale weights to sum to 1 with none below floor_share / their number.
local function floored(weights)
  local count, total = #names, 0
  for _, name in ipairs(names) do total = total + weights[name] end
  local shares = {}
  if total <= 0 then
    for _, name in ipairs(names) do shares[name] = 1 / count end
    return shares
  end
  local floor, low, lows = params.floor_share / count, {}, 0
  for _, name in ipairs(names) do
    shares[name] = weights[name] / total
    if shares[name] < floor then low[name] = true; lows = lows + 1 end
  end
  while lows > 0 do -- raising some takes from the rest, which may push another below the floor
    local rest, fallen = 0, 0
    for _, name in ipairs(names) do if not low[name] then rest = rest + shares[name] end end
    local scaled, falls = {}, {}
    for _, name in ipairs(names) do
      scaled[name] = low[name] and floor or shares[name] * (1 - floor * lows) / rest
      if scaled[name] < floor and not low[name] then falls[name] = true; fallen = fallen + 1 end
    end
    if fallen == 0 then return scaled end
    for name in pairs(falls) do low[name] = true end
    lows = lows + fallen
  end
  return shares
end

local function is_good(trip_ms)
  if trips.trips == 0 then return true end
  return trip_ms <= trips.mean_ms + params.confidence_sigmas * math.sqrt(trips.variance_ms2) + 1e-9
end

local function record(trip_ms)
  if trips.trips == 0 then
    trips.mean_ms = trip_ms
    trips.variance_ms2 = (0.3 * trip_ms) ^ 2
  else
    local weight = math.max(params.smoothing, 1 / (trips.trips + 1))
    local error_ms = trip_ms - trips.mean_ms
    trips.mean_ms = trips.mean_ms + weight * error_ms
    trips.variance_ms2 = trips.variance_ms2 + weight * (error_ms * error_ms - trips.variance_ms2)
  end
  trips.trips = trips.trips + 1
  trips.best_now_ms = math.min(trips.best_now_ms, trip_ms)
  trips.window_trips = trips.window_trips + 1
  if trips.window_trips >= math.floor(params.best_window_trips / 2) then
    trips.best_before_ms, trips.best_now_ms, trips.window_trips = trips.best_now_ms, math.huge, 0
  end
end

local function reinforcement(trip_ms)
  if params.inverse_trip then return trip_ms > 0 and math.min(1, 1 / trip_ms) or 1 end
  if trip_ms <= 0 then return params.strength end
  return params.strength * math.min(1, math.min(trips.best_before_ms, trips.best_now_ms) / trip_ms) ^ 2
end

local function evaporate(at_ms)
  local elapsed_ms = at_ms - trips.refreshed_ms
  if elapsed_ms <= 0 or params.half_life_ms == math.huge then return end
  local kept = 0.5 ^ (elapsed_ms / params.half_life_ms)
  for _, name in ipairs(names) do p[name] = q[name] + kept * (p[name] - q[name]) end
end

local acts = {}

function acts.reinforce(deed)
  local next_hop, trip_ms, at_ms = deed[2], deed[3], deed[4]
  if not p[next_hop] then return end
  evaporate(at_ms)
  local good = is_good(trip_ms)
  if good or params.learn_from_all_trips then record(trip_ms) end
  trips.refreshed_ms = at_ms
  if not good then return end
  local r = reinforcement(trip_ms)
  for _, name in ipairs(names) do p[name] = p[name] * (1 - r) end
  p[next_hop] = p[next_hop] + r
  p = floored(p)
end

function acts.weaken(deed)
  if not p[deed[2]] or #names < 2 then return end
  p[deed[2]] = p[deed[2]] * params.failed_path_factor
  p = floored(p)
end

function acts.scent(deed)
  local weights, at_ms, total, prior = deed[2], deed[3], 0, {}
  for _, name in ipairs(names) do total = total + (weights[name] or 0) end
  if total <= 0 then return end
  for _, name in ipairs(names) do prior[name] = (weights[name] or 0) / total end
  q = floored(prior)
  local blend = trips.trips > 0 and params.rescent_blend or 1
  for _, name in ipairs(names) do p[name] = blend * q[name] + (1 - blend) * p[name] end
  trips.refreshed_ms = at_ms
  p = floored(p)
end

function acts.meet(deed)
  if p[deed[2]] then return end
  local share = 1 / (#names + 1)
  for _, name in ipairs(names) do p[name] = p[name] * (1 - share); q[name] = q[name] * (1 - share) end
  names[#names + 1] = deed[2]
  table.sort(names)
  p[deed[2]], q[deed[2]] = share, share
  p = floored(p)
end

function acts.lose(deed)
  if not p[deed[2]] then return end
  local left = {}
  for _, name in ipairs(names) do if name ~= deed[2] then left[#left + 1] = name end end
  names = left
  p[deed[2]], q[deed[2]] = nil, nil
  if #names == 0 then return end
  q, p = floored(q), floored(p)
end

function acts.whole(deed)
  names, p, q, trips = deed[2], {}, {}, deed[5]
  for i, name in ipairs(names) do p[name], q[name] = deed[3][i], deed[4][i] end
end

if deeds[1][1] ~= 'whole' then
  local known = redis.call('HMGET', key, 'writer', 'deeds')
  if known[1] ~= writer then return 0 end
  if tonumber(known[2]) == before + #deeds then return 1 end
  if tonumber(known[2]) ~= before then return 0 end
  load()
end
for _, deed in ipairs(deeds) do acts[deed[1]](deed) end
store(before + #deeds)
return 1
