"""Decides by a limit on Redis: python limit.py USER, after ratescope script 'gcra 10/1m burst 5 per user' > limit.lua"""

import os
import sys
from pathlib import Path

import redis

client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
limit = client.register_script(Path("limit.lua").read_text())


def is_allowed(user, cost=1):
    passes, wait, level, bound = limit(keys=[f"limit:{{user={user}}}"], args=[cost])
    print(f"{user}: {'allowed' if passes else 'refused'}, {float(level):g} of {float(bound):g}")
    return passes == 1


if __name__ == "__main__":
    sys.exit(0 if is_allowed(sys.argv[1]) else 1)
