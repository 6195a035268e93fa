"""protobuf 3.20.3: arguments of json_format and text_format that protobuf 5 to 7 removed."""

import json

from google.protobuf import descriptor_pb2, json_format, text_format, type_pb2

FIELD = descriptor_pb2.FieldDescriptorProto(name="a", type="TYPE_INT64")
MESSAGE = descriptor_pb2.DescriptorProto(name="m", field=[FIELD])
# The fields of a message of proto3 have no presence.
TYPE = type_pb2.EnumValue(number=1, options=[type_pb2.Option(name="o"), type_pb2.Option()])


def case_defaults_of_proto3():
    read = json.loads(json_format.MessageToJson(TYPE, including_default_value_fields=True))
    short = json_format.MessageToDict(TYPE, including_default_value_fields=False)
    return [read, short, json_format.MessageToDict(TYPE, including_default_value_fields=True)]


def case_defaults_of_proto2():
    found = json_format.MessageToDict(MESSAGE, including_default_value_fields=True)
    # Added since.
    found.pop("visibility", None)
    return [found, json_format.MessageToDict(MESSAGE)]


def case_the_message_is_not_changed():
    before = MESSAGE.SerializeToString()
    json_format.MessageToJson(MESSAGE, including_default_value_fields=True, float_precision=3)
    return MESSAGE.SerializeToString() == before


def case_order_of_arguments():
    return [
        json_format.MessageToDict(TYPE, True, True, True),
        json_format.MessageToJson(TYPE, False, True, 4, True),
        json_format.MessageToJson(FIELD, False, True, None),
    ]


def case_too_many_arguments():
    return json_format.MessageToDict(TYPE, *range(8))


def case_escaped_texts():
    field = descriptor_pb2.FieldDescriptorProto(name="é")
    return [
        text_format.MessageToString(field),
        text_format.MessageToString(field, True),
        text_format.MessageToString(field, as_utf8=True, as_one_line=True),
        str(text_format.MessageToBytes(field)),
    ]
