"""Documents that follow from code, and pictures of the site."""
