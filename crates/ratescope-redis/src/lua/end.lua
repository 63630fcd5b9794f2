return reply_ .. pack('<d', now) .. states_
