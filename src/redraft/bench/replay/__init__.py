"""Replay: recorded outputs decoded again by the real loop, drafters and policies, without weights.

Verification compares a draft with what the target would say, and the trace holds that, so
acceptance is exact for any policy. Only time is simulated: a forward takes what a cost curve says.
"""
