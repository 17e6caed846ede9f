"""Diagnosis of speculative decoding: why it is not faster, and which settings to use.

``observe`` turns the ``options`` into an ``observation``. ``findings`` looks for ``signs`` of
misconfiguration, ``what_if`` compares other settings. ``verdict`` and ``advice`` draw the
conclusions of the ``diagnosis``.
"""
