"""A report as a page that belongs to no grid."""

from __future__ import annotations

from pathlib import Path

from reports.document.blocks import Document
from reports.document.html_form import html_of
from reports.grid import addresses
from reports.site.rendering import copy_static, render_alone


def write_document_page(out_dir: Path, document: Document) -> None:
    """Write the page into an existing folder, with its style sheet and script.

    Raises:
        OSError: a file cannot be written.
    """
    body = html_of(*document.blocks, *document.end)
    render_alone(out_dir, addresses.HOME, "document", title=document.title, body=body)
    copy_static(out_dir)
