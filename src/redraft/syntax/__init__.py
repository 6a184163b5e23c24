"""Syntax beside the decoder: where in the code the output is, by tree-sitter, as it grows.

Parsing is a help and never a condition: where it cannot be had, decoding goes on without it.
"""
