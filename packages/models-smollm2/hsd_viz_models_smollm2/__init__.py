"""The draft models and databases for SmolLM2 of hsd-viz, in ``weights/``."""
