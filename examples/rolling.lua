-- Adds points to a player of a board that covers the last days.
-- KEYS: today's board, the window that ends today, the day that drops out tomorrow, the window that ends tomorrow.
-- ARGV: the player, the points.
-- Returns the player's points in the window and the place, counted from 1.
local player, points = ARGV[1], ARGV[2]

redis.call('ZINCRBY', KEYS[1], points, player)
local window = tonumber(redis.call('ZINCRBY', KEYS[2], points, player))

local leaving = tonumber(redis.call('ZSCORE', KEYS[3], player) or 0)
redis.call('ZADD', KEYS[4], window - leaving, player)

return {window, redis.call('ZREVRANK', KEYS[2], player) + 1}
