"""What the flights before have shown by the time an aircraft leaves the gate."""

import numpy as np

# How far back to look, in minutes. A destination has fewer flights than an airport of New York.
DEPARTURES_MINUTES = 60
ORIGIN_ARRIVALS_MINUTES = 180
DEST_ARRIVALS_MINUTES = 360


def describe_traffic(origin, dest, scheduled, block, dep_delay, arr_delay):
    """Measures the recent traffic at each flight's push-back.

    Only what has happened before that minute counts: departures that have left, arrivals that have
    reached their gate.

    Args:
        origin, dest: airports, string arrays [flights].
        scheduled: minute of scheduled departure since any fixed time, float64 [flights].
        block: scheduled minutes from gate to gate, float64 [flights].
        dep_delay, arr_delay: minutes, float64 [flights]; NaN where a flight never left or arrived.

    Returns:
        name → float64 [flights]:
        origin_departures: flights that left the same airport in the hour before;
        origin_dep_delay: their mean delay in minutes;
        origin_lost_minutes: mean minutes that flights from there which arrived in the last three
            hours, wherever, lost between gates (negative: made good);
        dest_lost_minutes: the same of flights that reached this flight's destination in the last
            six hours, from any airport of New York.
        A mean is NaN where there was no such flight, everything is where a flight never left.
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


def _look_back(groups, times, values, now, window):
    """Number and mean of the values of a row's group with now - window <= time < now."""
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
