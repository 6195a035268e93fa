"""Demo data: a year of real flights, prepared for training."""
