"""The main job, shown: vLLM keeps its cache through a kill -9, on a machine with no GPU."""
