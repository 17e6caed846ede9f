"""Runs of other programs: logs to replay, records to import, metrics to compare, and the doctor. Imports no torch.

``records`` and ``tokens`` read logs of any size, ``replay`` and ``report`` count what drafters would have brought on
them, ``engines`` imports the records of other engines as traces, ``vocabulary`` converts their metrics, and ``doctor``
explains a speed-up that is missing.
"""
