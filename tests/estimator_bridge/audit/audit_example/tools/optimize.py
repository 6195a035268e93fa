"""A frozen graph for TensorRT."""

from tensorflow.contrib import tensorrt


def main():
    with open("model.pb", "rb") as file:
        graph = file.read()
    return tensorrt.create_inference_graph(graph, ["logits"])


if __name__ == "__main__":
    main()
