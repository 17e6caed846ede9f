"""Recording of the shipped traces, pictures of the page, page measurements; run from a checkout."""
