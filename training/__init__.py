"""Everything that makes the shipped models: corpus, recipe, training, evaluation, model card and
databases.
"""
