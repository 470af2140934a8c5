"""The terminal dashboard, built with Textual from the extra ``tui``.

What it shows is ``pegaflow.observe``'s; here are widgets, keys and their drawing alone.
"""
