"""What a live view shows: samples of daemons over HTTP, and what follows from them.

Data alone: no terminal, no widgets. ``source`` reads, ``counters`` takes differences, ``reading``
makes a ``Snapshot`` of them, ``recording`` keeps samples and gives them back.
"""
