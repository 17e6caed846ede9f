"""Hugging Face causal models as sessions. Only this package and what loads such models import
torch.
"""
