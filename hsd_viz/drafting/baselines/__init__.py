"""Baselines: published drafting methods, each after its paper or program."""
