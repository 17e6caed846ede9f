"""The law of a stack's latency, the selector that stands on it, and the estimates that both need. Pure: numpy alone."""
