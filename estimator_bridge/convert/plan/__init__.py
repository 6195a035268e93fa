"""What a canned model computes, as plain values."""
