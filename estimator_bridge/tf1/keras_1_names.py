"""The arguments of Keras 1 that Keras 2.0 to 2.3 accepted, with their names in Keras 2."""

from typing import Any, Optional

__all__ = ["CLASSES", "KERNEL", "NAMES", "POSITIONAL", "VALUES"]

_KERNEL = (
    "init=kernel_initializer W_regularizer=kernel_regularizer W_constraint=kernel_constraint "
    "b_regularizer=bias_regularizer b_constraint=bias_constraint bias=use_bias "
)
_IMAGES = "dim_ordering=data_format "
_FILTERS = "nb_filter=filters border_mode=padding "
_POOLS = "border_mode=padding "
_CELLS = (
    "init=kernel_initializer inner_init=recurrent_initializer "
    "W_regularizer=kernel_regularizer U_regularizer=recurrent_regularizer "
    "b_regularizer=bias_regularizer inner_activation=recurrent_activation "
    "dropout_W=dropout dropout_U=recurrent_dropout "
)
_CONVOLUTIONS = _FILTERS + _IMAGES + "subsample=strides " + _KERNEL

# Interface -> its names in Keras 1 and 2.
_TABLE = {
    "dense": "output_dim=units " + _KERNEL,
    "dropout": "p=rate",
    "embedding": "init=embeddings_initializer W_regularizer=embeddings_regularizer "
    "W_constraint=embeddings_constraint",
    "pooling1d": _POOLS + "pool_length=pool_size stride=strides",
    "pooling2d": _POOLS + _IMAGES,
    "pooling3d": _POOLS + _IMAGES,
    "global_pooling": _IMAGES,
    "prelu": "init=alpha_initializer",
    "gaussiannoise": "sigma=stddev",
    "gaussiandropout": "p=rate",
    "spatialdropout1d": "p=rate",
    "spatialdropoutNd": "p=rate " + _IMAGES,
    "recurrent": "output_dim=units consume_less=implementation " + _CELLS,
    "convlstm2d": _FILTERS + _IMAGES + "subsample=strides bias=use_bias " + _CELLS,
    "conv1d": _FILTERS + "filter_length=kernel_size subsample_length=strides " + _KERNEL,
    "conv2d": _CONVOLUTIONS,
    "conv3d": _CONVOLUTIONS,
    "deconv2d": _CONVOLUTIONS,
    "separable_conv2d": _FILTERS + _IMAGES + "subsample=strides b_regularizer=bias_regularizer "
    "b_constraint=bias_constraint bias=use_bias",
    "batchnorm": "beta_init=beta_initializer gamma_init=gamma_initializer",
    "upsampling1d": "length=size",
    "upsampling2d": _IMAGES,
    "upsampling3d": _IMAGES,
    "zeropadding2d": _IMAGES,
    "zeropadding3d": _IMAGES,
    "cropping2d": _IMAGES,
    "cropping3d": _IMAGES,
    "lambda": "",
    "input": "input_dtype=dtype",
    "model_constructor": "input=inputs output=outputs",
    "generator_methods": "samples_per_epoch=steps_per_epoch val_samples=steps nb_epoch=epochs "
    "nb_val_samples=validation_steps nb_worker=workers pickle_safe=use_multiprocessing "
    "max_q_size=max_queue_size",
    "add_weight": "",
    "get_updates": "",
}
NAMES: dict[str, list[tuple[str, str]]] = {
    name: [(old, new) for old, _, new in (pair.partition("=") for pair in pairs.split())]
    for name, pairs in _TABLE.items()
}

# Interface -> the arguments that may be given by position; None: any.
POSITIONAL: dict[str, Optional[list[str]]] = {
    "add_weight": ["name", "shape"],
    "batchnorm": [],
    "dense": ["units"],
    "dropout": ["rate", "noise_shape", "seed"],
    "embedding": ["input_dim", "output_dim"],
    "gaussiandropout": ["rate"],
    "gaussiannoise": ["stddev"],
    "generator_methods": ["generator", "steps_per_epoch", "epochs"],
    "get_updates": None,
    "global_pooling": None,
    "input": None,
    "lambda": ["function", "output_shape"],
    "model_constructor": None,
    "prelu": ["alpha_initializer"],
    "recurrent": ["units"],
    **{name: ["pool_size", "strides", "padding"] for name in NAMES if name.startswith("pooling")},
    **{name: ["filters", "kernel_size"] for name in NAMES if "conv" in name},
    **{name: ["cropping"] for name in NAMES if name.startswith("cropping")},
    **{name: ["rate"] for name in NAMES if name.startswith("spatialdropout")},
    **{name: ["size"] for name in NAMES if name.startswith("upsampling")},
    **{name: ["padding"] for name in NAMES if name.startswith("zeropadding")},
}

# Old name -> its values in Keras 1 and 2.
VALUES: dict[str, dict[Any, Any]] = {
    "consume_less": {"cpu": 0, "mem": 1, "gpu": 2},
    "dim_ordering": {"tf": "channels_last", "th": "channels_first", "default": None},
}

# The sizes of a kernel, which Keras 1 took one by one.
KERNEL = {2: ("nb_row", "nb_col"), 3: ("kernel_dim1", "kernel_dim2", "kernel_dim3")}

# Interface -> the layers that have it.
CLASSES = {
    "batchnorm": "BatchNormalization",
    "conv1d": "Conv1D LocallyConnected1D",
    "conv2d": "Conv2D LocallyConnected2D",
    "conv3d": "Conv3D",
    "convlstm2d": "ConvLSTM2D",
    "cropping2d": "Cropping2D",
    "cropping3d": "Cropping3D",
    "deconv2d": "Conv2DTranspose",
    "dense": "Dense",
    "dropout": "Dropout",
    "embedding": "Embedding",
    "gaussiandropout": "GaussianDropout",
    "gaussiannoise": "GaussianNoise",
    "global_pooling": "GlobalAveragePooling2D GlobalAveragePooling3D GlobalMaxPooling2D "
    "GlobalMaxPooling3D",
    "input": "InputLayer",
    "pooling1d": "AveragePooling1D MaxPooling1D",
    "pooling2d": "AveragePooling2D MaxPooling2D",
    "pooling3d": "AveragePooling3D MaxPooling3D",
    "prelu": "PReLU",
    "recurrent": "GRU LSTM SimpleRNN",
    "separable_conv2d": "SeparableConv2D",
    "spatialdropout1d": "SpatialDropout1D",
    "spatialdropoutNd": "SpatialDropout2D SpatialDropout3D",
    "upsampling1d": "UpSampling1D",
    "upsampling2d": "UpSampling2D",
    "upsampling3d": "UpSampling3D",
    "zeropadding2d": "ZeroPadding2D",
    "zeropadding3d": "ZeroPadding3D",
}
