"""hsd_viz: see, measure and learn speculative decoding."""
