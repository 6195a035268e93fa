"""A random forest."""

from tensorflow.contrib.tensor_forest.python import tensor_forest


def main():
    params = tensor_forest.ForestHParams(num_classes=2, num_features=5, num_trees=50)
    return tensor_forest.RandomForestGraphs(params.fill())


if __name__ == "__main__":
    main()
