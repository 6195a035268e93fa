"""SciPy 1.7.3: arguments, options and names of scipy.optimize that were removed since."""

import warnings

import numpy as np
import scipy.optimize

START = np.zeros(2)


def distance(x):
    return float(((x - 3) ** 2).sum())


def gradient(x):
    return 2 * (x - 3)


def minimize(*args, **options):
    """Returns the rounded place of the minimum; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = scipy.optimize.minimize(distance, START, *args, jac=gradient, **options)
    return np.round(found.x, 6)


def case_fmin_l_bfgs_b():
    find = scipy.optimize.fmin_l_bfgs_b
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [
            find(distance, START, gradient, iprint=-1),
            find(distance, START, gradient, disp=0),
        ]
        # `iprint`, `maxfun`, `maxiter`, `disp` and `callback` are behind `epsilon`.
        few = (1e7, 1e-5, 1e-8, -1, 15000, 1, None, None)
        found.append(find(distance, START, gradient, (), 0, None, 10, *few))
    return [[np.round(x, 6), information["nit"]] for x, _, information in found]


def case_options_of_l_bfgs_b():
    quiet = {"disp": False, "iprint": -1, "maxiter": 9}
    bounds = [(0, 1)] * 2
    return [
        minimize(method="L-BFGS-B", options=quiet),
        minimize(bounds=bounds, options={"disp": None}),
        quiet,
        minimize(method="BFGS", options={"disp": False}),
    ]


def case_an_unknown_option():
    return minimize(method="L-BFGS-B", options={"no_such_option": 1})


def case_options_of_nelder_mead():
    coarse = {"xtol": 0.5, "ftol": 0.5}
    found = scipy.optimize.minimize(distance, START, method="Nelder-Mead", options=coarse)
    return [found.nit, found.nfev]


def case_options_of_tnc():
    limited = {"maxiter": 2}
    return scipy.optimize.minimize(
        scipy.optimize.rosen, START, jac=scipy.optimize.rosen_der, method="TNC", options=limited
    ).nfev


def case_nnls():
    return scipy.optimize.nnls(np.eye(2), np.ones(2), 9)


def case_private_names():
    from scipy.optimize.lbfgsb import _minimize_lbfgsb, fmin_l_bfgs_b
    from scipy.optimize.optimize import MemoizeJac, _epsilon, _status_message

    made = [_status_message["success"], _epsilon, callable(MemoizeJac)]
    return [*made, fmin_l_bfgs_b is scipy.optimize.fmin_l_bfgs_b, callable(_minimize_lbfgsb)]
