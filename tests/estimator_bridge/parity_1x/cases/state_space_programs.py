"""Trainers of state space models, which go on from checkpoint files of 1.15."""

import tensorflow as tf

from cases import timeseries_programs as programs

series = tf.contrib.timeseries
CASES = {}


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


@case
def structural(folder):
    model = series.StructuralEnsembleRegressor(
        [7], 1, cycle_num_latent_values=5, moving_average_order=1, config=programs.config(folder)
    )
    return programs.SeriesJob(model, 1, 8, exported=True)
