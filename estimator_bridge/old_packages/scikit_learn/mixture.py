"""sklearn.mixture.GMM, which 0.20 removed."""

from sklearn.mixture import GaussianMixture

__all__ = ["GMM"]


class GMM(GaussianMixture):
    """A mixture of normal distributions, fitted by GaussianMixture.

    Args:
      n_components: number of distributions.
      covariance_type: full, tied, diag or spherical.
      random_state: seed or generator.
      tol: improvement below which the fit ends.
      min_covar: added to the variances.
      n_iter: greatest number of steps.
      n_init: number of fits, of which the best is kept.
      verbose: how much to print.
    """

    def __init__(
        self,
        n_components=1,
        covariance_type="diag",
        random_state=None,
        tol=1e-3,
        min_covar=1e-3,
        n_iter=100,
        n_init=1,
        verbose=0,
    ):
        super().__init__(
            n_components,
            covariance_type=covariance_type,
            random_state=random_state,
            tol=tol,
            reg_covar=min_covar,
            max_iter=n_iter,
            n_init=n_init,
            verbose=verbose,
        )
        self.min_covar = min_covar
        self.n_iter = n_iter

    @property
    def covars_(self):
        """The covariances."""
        return self.covariances_

    def score_samples(self, X):
        """Returns the logarithm of the density of each row, and the share of each component.

        Args:
          X: array [rows, columns].

        Returns:
          Arrays [rows] and [rows, components].
        """
        return super().score_samples(X), self.predict_proba(X)

    def score(self, X, y=None):
        """Returns the logarithm of the density of each row.

        Args:
          X: array [rows, columns].
          y: not used.

        Returns:
          Array [rows].
        """
        return super().score_samples(X)
