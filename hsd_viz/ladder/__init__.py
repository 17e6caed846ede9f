"""The shipped ladder: three small language models of one family with one tokenizer.

``load`` uses the models; ``training/`` in a checkout makes them.
"""

from hsd_viz.ladder.load import info, load_model, load_tokenizer, model_path, names, weights_hash

__all__ = ["info", "load_model", "load_tokenizer", "model_path", "names", "weights_hash"]
