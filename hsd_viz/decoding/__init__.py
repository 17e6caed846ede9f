"""The decoding loop: levels of models, sampling, verification, and the sessions that run models.

Importing this package does not load torch.
"""
