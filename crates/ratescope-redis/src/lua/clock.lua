-- Takes the time of Redis, in microseconds. Keys need no least lifetime.
local clock = call('TIME')
local now, shortest = clock[1] * 1000000 + clock[2], 0
