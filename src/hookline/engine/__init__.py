"""One event in, one answer out."""
