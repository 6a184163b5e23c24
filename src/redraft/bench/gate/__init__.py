"""The gate's training, its evaluation on tasks it has not seen, and its control experiment."""
