"""Draft models whose vocabulary is not the target's.

Two lossless bridges (Timor et al. 2025, arXiv 2502.05202) let a model with another tokenizer draft:

* **SLEM**, string-level exact match (:mod:`.slem`): the draft model continues the text with its own
  likeliest tokens. Their text is tokenized with the target's tokenizer and proposed as a chain of
  point masses. Any such chain is lossless.
* **TLI**, token-level intersection (:mod:`.tli`): the draft model's row is restricted to the tokens
  that both vocabularies have and renormalized. This row is sampled and is the draft's q, so that
  verification is exact.

With both, the text is encoded again in the draft model's tokens (:mod:`.translator`), and the cache
is kept for the prefix that did not change. Only the lowest level can have a bridge, because a level
that verifies needs a row over the target's tokens.

A vocabulary that differs in few tokens needs no bridge (:mod:`.agreeing`), because all other token
ids mean the same in both.
"""
