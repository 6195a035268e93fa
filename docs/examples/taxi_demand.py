"""Forecasts the demand for taxis of the next hours with an autoregressive model.

    python taxi_demand.py --data=trips.csv --model_dir=job

trips.csv has two columns without a header: the number of the hour, and the trips in it. The program
is one of TensorFlow 1.x. It goes on from the checkpoint in the folder of the job, if there is one:

    python -m estimator_bridge run --tf1 taxi_demand.py --data=trips.csv --model_dir=job
"""

import argparse

import tensorflow as tf

timeseries = tf.contrib.timeseries
DAY = 24


def main():
    """Trains, evaluates, and prints a forecast."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="CSV file of hours and trips")
    parser.add_argument("--model_dir", required=True, help="folder of the job")
    parser.add_argument("--max_steps", type=int, default=500, help="step at which training ends")
    parser.add_argument("--hours", type=int, default=DAY, help="hours to forecast")
    parser.add_argument("--export_dir", help="folder for a SavedModel")
    flags = parser.parse_args()

    reader = timeseries.CSVReader(flags.data, column_names=("times", "values"))
    estimator = timeseries.ARRegressor(
        periodicities=[DAY, 7 * DAY],
        input_window_size=2 * DAY,
        output_window_size=DAY // 2,
        num_features=1,
        num_time_buckets=6,
        hidden_layer_sizes=[8],
        loss=timeseries.ARModel.NORMAL_LIKELIHOOD_LOSS,
        config=tf.estimator.RunConfig(flags.model_dir, tf_random_seed=1, save_summary_steps=50),
    )
    windows = timeseries.RandomWindowInputFn(reader, window_size=60, batch_size=16, shuffle_seed=2)
    estimator.train(windows, max_steps=flags.max_steps)

    whole = timeseries.WholeDatasetInputFn(reader)
    evaluation = estimator.evaluate(whole, steps=1)
    print(f"step {evaluation['global_step']}: average loss {evaluation['average_loss']:.5f}")

    after = timeseries.predict_continuation_input_fn(evaluation, steps=flags.hours)
    (forecast,) = tuple(estimator.predict(after))
    deviations = forecast["covariance"][:, 0] ** 0.5
    for hour, mean, deviation in zip(forecast["times"], forecast["mean"][:, 0], deviations):
        print(f"hour {hour}: {mean:.2f} trips, standard deviation {deviation:.2f}")

    if flags.export_dir:
        receiver_fn = estimator.build_raw_serving_input_receiver_fn()
        print("exported", estimator.export_savedmodel(flags.export_dir, receiver_fn))


if __name__ == "__main__":
    main()
