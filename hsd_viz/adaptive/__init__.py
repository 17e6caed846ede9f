"""The `auto` policy: choose a stack for each round from measured costs and estimated acceptance."""
