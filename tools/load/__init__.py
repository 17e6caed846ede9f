"""Load on the servers, by clients that speak their protocols."""
