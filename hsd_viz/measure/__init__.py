"""Measurements and their results: bench, calibration, plan, prediction, doctor, replay of logs.

Importing this package does not import torch.
"""
