"""Computes features of recent traffic at the time when an aircraft leaves the gate."""

import numpy as np

# Lengths of the windows in minutes. The window of a destination is longer because it has fewer
# flights than an airport of New York.
DEPARTURES_MINUTES = 60
ORIGIN_ARRIVALS_MINUTES = 180
DEST_ARRIVALS_MINUTES = 360


def describe_traffic(
    origin: np.ndarray,
    dest: np.ndarray,
    scheduled: np.ndarray,
    block: np.ndarray,
    dep_delay: np.ndarray,
    arr_delay: np.ndarray,
) -> dict[str, np.ndarray]:
    """Measures the recent traffic at each flight's push-back.

    Only departures and arrivals before the minute of the push-back count.

    Args:
        origin: airport of departure, string [flights].
        dest: airport of arrival, string [flights].
        scheduled: minute of scheduled departure since any fixed time, float64 [flights].
        block: scheduled minutes from gate to gate, float64 [flights].
        dep_delay: delay of departure in minutes, float64 [flights]; NaN if a flight never left.
        arr_delay: delay of arrival in minutes, float64 [flights]; NaN if a flight never arrived.

    Returns:
        Feature → float64 [flights]. A mean over no flights is NaN. All features of a flight that
        never left are NaN.
        origin_departures: number of flights that left the same airport in the last hour;
        origin_dep_delay: their mean delay in minutes;
        origin_lost_minutes: mean delay between gates, in minutes, of flights from the same airport
            that arrived anywhere in the last three hours; negative if they made up time;
        dest_lost_minutes: the same for flights from any airport of New York that arrived at this
            flight's destination in the last six hours.
    """
    left = scheduled + dep_delay
    arrived = scheduled + block + arr_delay
    lost = arr_delay - dep_delay
    departures, delay = _look_back(origin, left, dep_delay, left, DEPARTURES_MINUTES)
    _, origin_lost = _look_back(origin, arrived, lost, left, ORIGIN_ARRIVALS_MINUTES)
    _, dest_lost = _look_back(dest, arrived, lost, left, DEST_ARRIVALS_MINUTES)
    return {
        "origin_departures": departures,
        "origin_dep_delay": delay,
        "origin_lost_minutes": origin_lost,
        "dest_lost_minutes": dest_lost,
    }


def _look_back(
    groups: np.ndarray, times: np.ndarray, values: np.ndarray, now: np.ndarray, window: float
) -> tuple[np.ndarray, np.ndarray]:
    """Returns number and mean of the values of a row's group with now - window <= time < now."""
    count = np.full(len(now), np.nan)
    mean = np.full(len(now), np.nan)
    for group in np.unique(groups):
        rows = np.flatnonzero((groups == group) & ~np.isnan(now))
        seen = (groups == group) & ~np.isnan(times) & ~np.isnan(values)
        order = np.argsort(times[seen], kind="stable")
        sorted_times = times[seen][order]
        sums = np.concatenate([[0.0], np.cumsum(values[seen][order])])
        end = np.searchsorted(sorted_times, now[rows], side="left")
        start = np.searchsorted(sorted_times, now[rows] - window, side="left")
        count[rows] = end - start
        some = end > start
        mean[rows[some]] = ((sums[end] - sums[start]) / np.maximum(end - start, 1))[some]
    return count, mean
