"""Measure and check the CUDA path: ``bash benchmarks/gpu/run.sh a|b|c [--tiny]``.

``a`` checks (tests, equal bits in strict mode, a tiny benchmark), ``b`` measures, ``c`` trains the
ladder. ``--tiny`` runs the same code on any machine. Results are written after each part, with its
time and what it compiled.

Compilation decides how much of ``b`` fits into its 580 s. Counted on a CPU: 12 graphs with a
forward pass for each of the three shapes (six widths; a draft's first and other tokens and a
verification, greedy and sampled), two for strict mode, and 14 without. **An estimate, measured on
no GPU:** an H100 took 110 s for five graphs of 1B (22 layers) when each layer was compiled by
itself (``docs/bench/gpu-h100.json``). On a CPU shared layers take 0.4 of the processor time of that
(13.3 s instead of 33.5 s for a graph of 22 layers). Were it the same there, the steps of 1B would
take 105 s, those of 7B about as long or half as long again, and all parts up to ``identity/strict``
5 to 7 minutes.
"""
