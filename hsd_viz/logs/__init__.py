"""Logs of other programs to replay, and the doctor. Imports no torch.

``records`` and ``tokens`` read logs of any size, ``replay`` and ``report`` count what drafters would have brought on
them, ``observe`` reads what is known of a drafter, and ``doctor`` explains a speed-up that is missing.
"""
