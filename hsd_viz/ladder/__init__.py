"""The shipped ladder: three small language models of one family with one tokenizer.

:data:`hsd_viz.models.families.CODE` states their paths. The code in ``training/`` of the repository
trains them.
"""

from hsd_viz.ladder.torch_modules import info, load_model, load_tokenizer

__all__ = ["info", "load_model", "load_tokenizer"]
