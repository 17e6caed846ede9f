"""The files of models: configurations, weights, tokenizers and chat templates, and the families of
models with short names.

Importing this package loads neither torch nor transformers.
"""
