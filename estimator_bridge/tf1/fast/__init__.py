"""`run --tf1 --fast`: canned Estimators with fewer operations in a step.

The model_fn, its variables, optimizers and summaries stay as they are. What feature columns make of
categorical values with one value in a row is replaced: TensorFlow turns the values into a sparse
tensor, looks up its distinct ids and combines the rows again, in some 40 operations for a column
and their gradients. One id a row needs one lookup. Several ids a row are combined without the
search for distinct ids.

  ids.py       the ids of a column
  lookups.py   the columns that use them
  training.py  which Estimators train with them, and what is said about it
"""

__all__: list[str] = []
