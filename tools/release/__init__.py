"""What completes a release, and the check of an installed wheel."""
