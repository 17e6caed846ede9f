"""The models and databases of the family ``code`` of hsd-viz, in ``weights/``."""
