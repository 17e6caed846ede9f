"""Diagnosis of speculative decoding: why it is not faster, and which settings to use.

``observe`` turns the ``options`` into an ``observation``, with missing times from
``assumed_hardware``. ``loss``, ``what_if`` and ``findings`` analyse it. ``verdict``, ``advice`` and
``recommendation`` draw the conclusions of the ``diagnosis``.
"""
