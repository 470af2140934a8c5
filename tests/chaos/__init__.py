"""The restart contract under fire: real vLLM and the daemon, killed, stopped and continued."""
