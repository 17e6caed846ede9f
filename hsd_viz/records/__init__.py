"""Records of serving engines: what they write, as series of counts. Imports no torch."""
