"""The fence: a copy that goes on late never touches blocks that were used again."""
