"""The data path to GPUs, with a daemon and engines in processes of their own.

They run on the machine's GPU where ``PEGAFLOW_TEST_GPU`` is set, else on the stand-in for its
driver.
"""
