"""What a run leaves, and the tables, pages and files that are made of it.

Other projects may import the modules in `__all__`; docs/use-as-a-library.md shows how. The other modules are inside:
they serve this suite alone, and may change at any time.
"""

__all__ = ["record_columns", "records"]
