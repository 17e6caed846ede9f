"""Files of models: their form, weights, tokenizers and chat templates, and the families with names.

Nothing here imports torch or transformers.
"""
