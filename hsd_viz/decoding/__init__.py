"""The loop: levels, sampling, verification, models with a cache that rolls back. Importing it loads
no torch.
"""
