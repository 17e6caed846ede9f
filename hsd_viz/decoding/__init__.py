"""The loop: models with a cache that rolls back, sampling, verification, levels. Importing this package does not import
torch."""
