"""Files that schemas import without a reference: Confluent's own. Google's come with grpcio-tools and googleapis.

The types of https://docs.confluent.io/platform/current/schema-registry/connect.html#protobuf.
"""

from __future__ import annotations

from typing import Final

META: Final = "confluent/meta.proto"
DECIMAL: Final = "confluent/type/decimal.proto"
VARIANT: Final = "confluent/type/variant.proto"

#: Its field options say what has no place in Protobuf: that an int32 is an INT8, the scale of a Decimal.
_META_TEXT: Final = """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  repeated Rule rules = 4;
}
message Rule {
  string name = 1;
  string doc = 2;
  string expr = 3;
  string sql = 4;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""

_DECIMAL_TEXT: Final = """
syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
"""

_VARIANT_TEXT: Final = """
syntax = "proto3";
package confluent.type;
message Variant {
  bytes metadata = 1;
  bytes value = 2;
}
"""

TEXTS: Final = {META: _META_TEXT, DECIMAL: _DECIMAL_TEXT, VARIANT: _VARIANT_TEXT}
