"""Baselines: published drafting methods, each re-implemented from its paper or program."""
