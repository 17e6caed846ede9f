"""Readers of the records that serving engines write, as series of counts. Does not import torch."""
