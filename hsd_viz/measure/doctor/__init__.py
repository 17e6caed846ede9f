"""Why speculative decoding is not faster, and what to set.

What is asked (``options``) becomes an ``observation`` (``observe``, with times of
``assumed_hardware``); ``loss``, ``what_if`` and ``findings`` examine it; ``verdict``, ``advice``
and ``recommendation`` conclude: a ``diagnosis``.
"""
