"""Writes the documents that follow from code, and takes their pictures. Each has a test that fails if it is out of date."""
