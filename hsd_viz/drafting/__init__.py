"""Where database drafts come from: the draft tree, the databases, the hierarchy, rivals. Pure: numpy only."""
