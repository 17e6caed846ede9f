"""Damaged and hostile inputs at every door by which data of strangers enters."""
