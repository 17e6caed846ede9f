"""The latency law of a stack, selection by it, and its inputs. Pure: numpy only."""
