import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamWriteConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Values;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;

/**
 * Answers what Apache Kafka Connect's own converters make of bytes and values.
 *
 * One question a line on standard input, one answer a line on standard output, both JSON. A value is null, true, false
 * or a pair of its kind and its content: ["i64", "5"], ["f64", "4614253070214989087"] (the bits), ["str", "x"],
 * ["bytes", base64], ["list", [...]], ["map", [[key, value], ...]], ["struct", schema, [[name, value], ...]],
 * ["decimal", unscaled, scale], ["date", milliseconds]; the default of a struct's schema is ["fields", [[name, value], ...]].
 *
 * "to_each" asks about many records at once. Its answers are texts of JSON, which may be deep, and null for an error.
 */
public class Oracle {
    /** Reads questions and writes answers: of any size and depth, unlike the converters. */
    static final ObjectMapper JSON = new ObjectMapper(JsonFactory.builder()
        .streamReadConstraints(StreamReadConstraints.builder()
            .maxNestingDepth(Integer.MAX_VALUE).maxStringLength(Integer.MAX_VALUE).maxNameLength(Integer.MAX_VALUE).build())
        .streamWriteConstraints(StreamWriteConstraints.builder().maxNestingDepth(Integer.MAX_VALUE).build())
        .build());
    static final Map<String, Object> CONVERTERS = new HashMap<>();
    static final Map<JsonNode, Schema> SCHEMAS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        JSON.getFactory().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            String text;
            try {
                ObjectNode answer = JSON.createObjectNode();
                answer(JSON.readTree(line), answer);
                text = JSON.writeValueAsString(answer);
            } catch (Throwable e) {
                ObjectNode answer = JSON.createObjectNode();
                answer.put("error", e.getClass().getSimpleName());
                answer.put("message", String.valueOf(e.getMessage()));
                text = JSON.writeValueAsString(answer);
            }
            out.println(text);
            out.flush();
        }
    }

    static void answer(JsonNode q, ObjectNode answer) throws Exception {
        byte[] data = q.path("data").isTextual() ? Base64.getDecoder().decode(q.get("data").textValue()) : null;
        switch (q.get("op").textValue()) {
            case "to": {
                put(answer, ((Converter) converter(q, false)).toConnectData("topic", data));
                break;
            }
            case "to_each": {
                Converter converter = (Converter) converter(q, false);
                ArrayNode answers = answer.putArray("answers");
                for (JsonNode each : q.get("data")) {
                    SchemaAndValue result;
                    try {
                        result = converter.toConnectData("topic", each.binaryValue());
                    } catch (Exception | StackOverflowError e) {
                        answers.addNull();
                        continue;
                    }
                    ObjectNode found = JSON.createObjectNode();
                    put(found, result);
                    answers.add(JSON.writeValueAsString(found));
                }
                break;
            }
            case "to_header": {
                put(answer, ((HeaderConverter) converter(q, true)).toConnectHeader("topic", "header", data));
                break;
            }
            case "from": {
                Schema schema = schema(q.get("schema"));
                answer.put("data", ((Converter) converter(q, false)).fromConnectData("topic", schema, value(q.get("value"))));
                break;
            }
            case "from_header": {
                Schema schema = schema(q.get("schema"));
                answer.put("data", ((HeaderConverter) converter(q, true))
                    .fromConnectHeader("topic", "header", schema, value(q.get("value"))));
                break;
            }
            case "text": {
                answer.put("data", String.valueOf(value(q.get("value"))).getBytes(StandardCharsets.UTF_8));
                break;
            }
            case "double": {
                answer.put("text", Double.toString(Double.longBitsToDouble(q.get("bits").longValue())));
                break;
            }
            case "float": {
                answer.put("text", Float.toString(Float.intBitsToFloat(q.get("bits").intValue())));
                break;
            }
            default:
                throw new IllegalArgumentException(q.toString());
        }
    }

    static Object converter(JsonNode q, boolean header) throws Exception {
        String key = q.get("class") + "|" + q.get("config") + "|" + q.get("is_key") + "|" + header;
        Object made = CONVERTERS.get(key);
        if (made == null) {
            Map<String, String> config = new HashMap<>();
            q.get("config").fields().forEachRemaining(e -> config.put(e.getKey(), e.getValue().textValue()));
            made = Class.forName(q.get("class").textValue()).getDeclaredConstructor().newInstance();
            if (header) {
                config.put("converter.type", "header");
                ((HeaderConverter) made).configure(config);
            } else {
                ((Converter) made).configure(config, q.get("is_key").booleanValue());
            }
            CONVERTERS.put(key, made);
        }
        return made;
    }

    static void put(ObjectNode answer, SchemaAndValue result) {
        answer.set("schema", describe(result.schema()));
        answer.set("value", describeValue(result.value()));
    }

    // Schemas. The same description gives the same object: Java takes two structs with a default for different schemas.

    static Schema schema(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Schema made = SCHEMAS.get(node);
        if (made == null) {
            made = make(node);
            SCHEMAS.put(node, made);
        }
        return made;
    }

    static Schema make(JsonNode node) {
        Schema.Type type = Schema.Type.valueOf(node.get("type").textValue());
        SchemaBuilder builder;
        switch (type) {
            case ARRAY:
                builder = SchemaBuilder.array(schema(node.get("values")));
                break;
            case MAP:
                builder = SchemaBuilder.map(schema(node.get("keys")), schema(node.get("values")));
                break;
            default:
                builder = new SchemaBuilder(type);
        }
        if (type == Schema.Type.STRUCT) {
            for (JsonNode field : node.get("fields")) {
                builder.field(field.get(0).textValue(), schema(field.get(1)));
            }
        }
        if (node.get("optional").booleanValue()) {
            builder.optional();
        }
        if (node.hasNonNull("name")) {
            builder.name(node.get("name").textValue());
        }
        if (node.hasNonNull("version")) {
            builder.version(node.get("version").intValue());
        }
        if (node.hasNonNull("doc")) {
            builder.doc(node.get("doc").textValue());
        }
        if (node.hasNonNull("parameters")) {
            node.get("parameters").fields().forEachRemaining(e -> builder.parameter(e.getKey(), e.getValue().textValue()));
        }
        if (node.hasNonNull("default")) {
            JsonNode standIn = node.get("default");
            builder.defaultValue(type == Schema.Type.STRUCT ? struct(builder, standIn.get(1)) : value(standIn));
        }
        return builder.build();
    }

    static JsonNode describe(Schema schema) {
        if (schema == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        node.put("type", schema.type().name());
        node.put("optional", schema.isOptional());
        node.put("name", schema.name());
        node.put("version", schema.version());
        node.put("doc", schema.doc());
        ObjectNode parameters = node.putObject("parameters");
        if (schema.parameters() != null) {
            schema.parameters().forEach(parameters::put);
        }
        node.set("default", schema.type() == Schema.Type.STRUCT && schema.defaultValue() != null
            ? JSON.createArrayNode().add("fields").add(fields((Struct) schema.defaultValue()))
            : describeValue(schema.defaultValue()));
        switch (schema.type()) {
            case MAP:
                node.set("keys", describe(schema.keySchema()));
                node.set("values", describe(schema.valueSchema()));
                break;
            case ARRAY:
                node.set("values", describe(schema.valueSchema()));
                break;
            case STRUCT:
                ArrayNode fields = node.putArray("fields");
                for (Field field : schema.fields()) {
                    fields.addArray().add(field.name()).add(describe(field.schema()));
                }
                break;
            default:
        }
        return node;
    }

    // Values.

    static Object value(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        if (node.isBoolean()) {
            return node.booleanValue();
        }
        JsonNode content = node.get(1);
        switch (node.get(0).textValue()) {
            case "i8":
                return Byte.valueOf(content.textValue());
            case "i16":
                return Short.valueOf(content.textValue());
            case "i32":
                return Integer.valueOf(content.textValue());
            case "i64":
                return Long.valueOf(content.textValue());
            case "f32":
                return Float.intBitsToFloat(Integer.parseInt(content.textValue()));
            case "f64":
                return Double.longBitsToDouble(Long.parseLong(content.textValue()));
            case "str":
                return content.textValue();
            case "bytes":
                return Base64.getDecoder().decode(content.textValue());
            case "buffer":
                return ByteBuffer.wrap(Base64.getDecoder().decode(content.textValue()));
            case "decimal":
                return new BigDecimal(new BigInteger(content.textValue()), node.get(2).intValue());
            case "date":
                return new Date(Long.parseLong(content.textValue()));
            case "list": {
                List<Object> list = new ArrayList<>();
                content.forEach(item -> list.add(value(item)));
                return list;
            }
            case "map": {
                Map<Object, Object> map = new LinkedHashMap<>();
                content.forEach(pair -> map.put(value(pair.get(0)), value(pair.get(1))));
                return map;
            }
            case "struct":
                return struct(schema(content), node.get(2));
            default:
                throw new IllegalArgumentException(node.toString());
        }
    }

    static Struct struct(Schema schema, JsonNode pairs) {
        Struct struct = new Struct(schema);
        for (JsonNode pair : pairs) {
            // Java lets a null of a required field with a default be left out, not be put.
            if (!pair.get(1).isNull()) {
                struct.put(pair.get(0).textValue(), value(pair.get(1)));
            }
        }
        return struct;
    }

    static ArrayNode fields(Struct struct) {
        ArrayNode pairs = JSON.createArrayNode();
        for (Field field : struct.schema().fields()) {
            pairs.addArray().add(field.name()).add(describeValue(struct.getWithoutDefault(field.name())));
        }
        return pairs;
    }

    static JsonNode describeValue(Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        if (value instanceof Boolean) {
            return JSON.getNodeFactory().booleanNode((Boolean) value);
        }
        ArrayNode node = JSON.createArrayNode();
        if (value instanceof Byte) {
            node.add("i8").add(value.toString());
        } else if (value instanceof Short) {
            node.add("i16").add(value.toString());
        } else if (value instanceof Integer) {
            node.add("i32").add(value.toString());
        } else if (value instanceof Long) {
            node.add("i64").add(value.toString());
        } else if (value instanceof Float) {
            node.add("f32").add(Integer.toString(Float.floatToIntBits((Float) value)));
        } else if (value instanceof Double) {
            node.add("f64").add(Long.toString(Double.doubleToLongBits((Double) value)));
        } else if (value instanceof String) {
            node.add("str").add((String) value);
        } else if (value instanceof byte[]) {
            node.add("bytes").add(Base64.getEncoder().encodeToString((byte[]) value));
        } else if (value instanceof ByteBuffer) {
            ByteBuffer copy = ((ByteBuffer) value).duplicate();
            byte[] content = new byte[copy.remaining()];
            copy.get(content);
            node.add("bytes").add(Base64.getEncoder().encodeToString(content));
        } else if (value instanceof BigDecimal) {
            node.add("decimal").add(((BigDecimal) value).unscaledValue().toString()).add(((BigDecimal) value).scale());
        } else if (value instanceof Date) {
            node.add("date").add(Long.toString(((Date) value).getTime()));
        } else if (value instanceof Iterable) {
            node.add("list");
            ArrayNode items = node.addArray();
            ((Iterable<?>) value).forEach(item -> items.add(describeValue(item)));
        } else if (value instanceof Map) {
            node.add("map");
            ArrayNode pairs = node.addArray();
            ((Map<?, ?>) value).forEach((k, v) -> pairs.addArray().add(describeValue(k)).add(describeValue(v)));
        } else if (value instanceof Struct) {
            Struct struct = (Struct) value;
            node.add("struct");
            node.add(describe(struct.schema()));
            node.add(fields(struct));
        } else {
            node.add("other").add(value.getClass().getName());
        }
        return node;
    }
}
