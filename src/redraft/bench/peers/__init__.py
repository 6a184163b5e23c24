"""Other engines on the same weights and prompts, in the same run: `redraft bench peers`."""
