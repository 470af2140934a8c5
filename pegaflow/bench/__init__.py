"""Measurements that ``pegaflow bench`` makes, for any machine with or without a GPU.

torch, cupy and vllm are imported where a measurement needs them, and nowhere else.
"""
