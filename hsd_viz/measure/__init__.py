"""Measurements, a package per product: each has an ``api`` with the function of that name.

``bench`` measures stacks, ``plan`` ranks them on this machine, ``predict`` on other hardware,
``doctor`` explains a record, ``replay`` drafts over logs. Importing them does not import torch.
"""
