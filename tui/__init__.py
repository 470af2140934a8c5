"""The terminal dashboard, built with Textual from the extra ``tui``; nothing is in it yet."""
