"""The configuration: the only place where an option and its default are defined.

`sections`, `data`, `model` and `training` define the options, and `values` defines their types.
`loading` reads the options from a file and from flags.
"""

from trainer.config.data import DATA_FORMATS, DataConfig
from trainer.config.loading import (
    Option,
    describe_problem,
    find_preset,
    list_options,
    load_config,
    read_document,
    read_yaml,
    to_yaml,
)
from trainer.config.model import MODEL_TYPES, ModelConfig
from trainer.config.sections import (
    SECRET,
    USER,
    ClusterConfig,
    Config,
    RunConfig,
    StorageConfig,
    TfxConfig,
)
from trainer.config.training import (
    LINEAR_START_EPOCHS,
    MANY_EPOCHS,
    MANY_EPOCHS_DROPOUT,
    MIN_STEPS,
    EvalConfig,
    ExportConfig,
    Exporter,
    Optimizer,
    StopConfig,
    TrainConfig,
)
from trainer.config.values import (
    CODE_REFERENCE,
    CodeName,
    Floats,
    Ints,
    Layers,
    OptionalCode,
    OptionalFloat,
    OptionalInt,
    OptionalStr,
    Section,
    StrList,
)
from trainer.errors import nearest

__all__ = [
    "CODE_REFERENCE",
    "DATA_FORMATS",
    "ClusterConfig",
    "CodeName",
    "Config",
    "DataConfig",
    "EvalConfig",
    "ExportConfig",
    "Exporter",
    "Floats",
    "Ints",
    "Layers",
    "LINEAR_START_EPOCHS",
    "MANY_EPOCHS",
    "MANY_EPOCHS_DROPOUT",
    "MIN_STEPS",
    "MODEL_TYPES",
    "ModelConfig",
    "Optimizer",
    "Option",
    "OptionalCode",
    "OptionalFloat",
    "OptionalInt",
    "OptionalStr",
    "RunConfig",
    "SECRET",
    "Section",
    "StopConfig",
    "StorageConfig",
    "StrList",
    "TfxConfig",
    "TrainConfig",
    "USER",
    "find_preset",
    "list_options",
    "load_config",
    "nearest",
    "describe_problem",
    "read_document",
    "read_yaml",
    "to_yaml",
]
