"""Hugging Face causal models as sessions. Only this package, and code that loads such models,
imports torch.
"""
