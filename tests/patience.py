"""How long tests wait for what must happen: as long as the busiest machine needs."""

#: Seconds after which it does not happen at all.
PATIENCE = 120.0
