-- The rows around a player, best first, with places that equal scores share (1, 2, 2, 4).
-- KEYS: the board. ARGV: the player, how many rows above and below.
-- Returns a list of {place, player, score}; an empty one if the player is not on the board.
local rank = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if not rank then return {} end

local first = math.max(rank - ARGV[2], 0)
local rows = redis.call('ZREVRANGE', KEYS[1], first, rank + ARGV[2], 'WITHSCORES')

local page = {}
for i = 1, #rows, 2 do
    local player, score = rows[i], rows[i + 1]
    local better = redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf')
    page[#page + 1] = {better + 1, player, score}
end
return page
