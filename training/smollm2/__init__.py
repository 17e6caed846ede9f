"""The drafts and databases of SmolLM2-135M-Instruct: its own text, training and evaluation."""
