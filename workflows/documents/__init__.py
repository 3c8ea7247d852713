"""Documents that follow from code, each in a module of its own, and pictures of the site."""
