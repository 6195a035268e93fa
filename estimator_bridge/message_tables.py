"""Makes classes of protocol buffer messages from tables of their fields.

For messages that TensorFlow wrote into checkpoints and no longer contains.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["Enums", "Messages", "OneOf", "make_classes"]

# Message -> (field, number, type, repeated). A type with a capital is another message.
Messages = Mapping[str, tuple[tuple[str, int, str, bool], ...]]
# Message -> the name of a group of fields of which one is set -> those fields.
OneOf = Mapping[str, Mapping[str, tuple[str, ...]]]
# Message -> its enumerations -> their names, numbered from 0.
Enums = Mapping[str, Mapping[str, tuple[str, ...]]]

_NO_ENUMS: Enums = {}


def make_classes(
    package: str, messages: Messages, one_of: OneOf, enums: Enums = _NO_ENUMS
) -> dict[str, Any]:
    """Returns message -> its class.

    Fields that a table leaves out are kept as unknown fields.

    Args:
      package: name of the messages' package.
      messages: the fields.
      one_of: the groups of fields of which one is set.
      enums: the enumerations within messages, which are types of their fields.
    """
    # A pool of its own, because the messages are none of TensorFlow's.
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_describe(package, messages, one_of, enums).SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }


def _describe(
    package: str, messages: Messages, one_of: OneOf, enums: Enums
) -> descriptor_pb2.FileDescriptorProto:
    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package.replace('.', '/')}.proto", package=package, syntax="proto3"
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        groups = one_of.get(name, {})
        for group in groups:
            message.oneof_decl.add(name=group)
        own = enums.get(name, {})
        for enum, values in own.items():
            described = message.enum_type.add(name=enum)
            for number, value in enumerate(values):
                described.value.add(name=value, number=number)
        for field_name, number, kind, repeated in fields:
            label = field_type.LABEL_REPEATED if repeated else field_type.LABEL_OPTIONAL
            field = message.field.add(name=field_name, number=number, label=label)
            for index, members in enumerate(groups.values()):
                if field_name in members:
                    field.oneof_index = index
            if kind in messages:
                field.type = field_type.TYPE_MESSAGE
                field.type_name = f".{package}.{kind}"
            elif kind in own:
                field.type = field_type.TYPE_ENUM
                field.type_name = f".{package}.{name}.{kind}"
            else:
                field.type = getattr(field_type, f"TYPE_{kind.upper()}")
    return file
