"""Draft models with another vocabulary than the target's.

Two lossless bridges (Timor et al. 2025, arXiv 2502.05202) let a model with another tokenizer draft:

* **SLEM**, string-level exact match (:mod:`.slem`): the draft model continues the text with its own
  likeliest tokens; its text is cut again into the target's tokens and proposed as a chain of point
  masses. Any such chain is lossless.
* **TLI**, token-level intersection (:mod:`.tli`): the draft model's row is restricted to the tokens
  that both vocabularies have and renormalised. This row is sampled and is the draft's q, so that
  verification is exact.

Either way the text is encoded again in the draft's tokens (:mod:`.translator`), and the cache is
kept as far as they are the same. Only the lowest level can have a bridge: above it, levels need a
row for each of the target's tokens.

A vocabulary that differs in few tokens needs no bridge (:mod:`.agreeing`): the ids mean the same
but for these.
"""
