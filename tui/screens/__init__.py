"""Screens over the dashboard."""
