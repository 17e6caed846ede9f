"""The recordings that are shipped: runs of the models, the game, the tour and the lab's logs."""
