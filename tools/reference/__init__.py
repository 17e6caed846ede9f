"""Files that follow from the source: reference pages, types of the page, facts of the elements."""
