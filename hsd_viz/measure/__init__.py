"""Measurements, one package per product. Each has a module ``api`` with the function of its name.

``bench`` measures stacks, ``plan`` ranks them on this machine, ``predict`` predicts their speed on
other hardware, ``doctor`` explains a record, and ``replay`` runs drafters over logs. Importing them
does not import torch.
"""
