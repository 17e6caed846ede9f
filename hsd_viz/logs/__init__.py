"""Logs of other programs to replay, and the doctor. Imports no torch.

``records`` reads logs of any size and ``replay`` counts what drafters would have brought on them; ``observe`` reads
what is known of a drafter, and ``doctor`` explains a speed-up that is missing.
"""
