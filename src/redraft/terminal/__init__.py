"""What the command line shows and does, one module per command, and what they share.

`redraft.cli` declares the commands and calls these. `screen` writes, `job` runs the session in a
thread, `progress` shows a running job, `diff` compares texts. Data goes to stdout, talk to stderr.
"""
