"""sklearn.lda and sklearn.qda, which 0.19 removed."""

from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

__all__ = ["LDA", "QDA"]

LDA = LinearDiscriminantAnalysis
QDA = QuadraticDiscriminantAnalysis
