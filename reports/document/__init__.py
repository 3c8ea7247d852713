"""A report for people as a value: on a terminal, in Markdown or as HTML.

`blocks` has the values. `terminal_form`, `markdown_form` and `html_form` render them, and escape every text for their
format. Machines get the data that a report is made from, and not its sentences: so there is no form in JSON.
"""
