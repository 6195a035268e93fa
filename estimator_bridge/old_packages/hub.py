"""What to do about the modules of TensorFlow 1.x, which tensorflow-hub 0.16 removed."""

__all__ = ["install"]

_REMOVED = """
    ImageModuleInfo LatestModuleExporter Module ModuleSpec add_signature attach_image_module_info
    attach_message create_module_spec create_module_spec_from_saved_model eval_function_for_module
    get_expected_image_size get_num_image_channels image_embedding_column load_module_spec
    register_module_for_export sparse_text_embedding_column text_embedding_column
    text_embedding_column_v2
"""


def install() -> None:
    """Names the remedy when the program reads a removed name of the imported tensorflow_hub."""
    import tensorflow_hub

    # Newer versions may have a __getattr__ of their own.
    if hasattr(tensorflow_hub, "Module") or "__getattr__" in vars(tensorflow_hub):
        return

    def find(name):
        problem = f"module 'tensorflow_hub' has no attribute {name!r}"
        if name in _REMOVED.split():
            problem += (
                ": tensorflow-hub 0.16 removed the modules of TensorFlow 1.x; install an older "
                "one: pip install 'tensorflow-hub<0.16'"
            )
        raise AttributeError(problem)

    vars(tensorflow_hub)["__getattr__"] = find
