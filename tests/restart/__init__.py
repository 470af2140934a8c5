"""Daemons that stop, end and come back, and engines that do, met by the connector's own code."""
