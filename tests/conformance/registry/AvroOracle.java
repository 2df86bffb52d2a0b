import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.apicurio.registry.serde.avro.NonRecordContainer;
import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;

/**
 * Answers what the Java converter between Avro and Connect makes of schemas and values, with Avro's own reader and
 * writer. Questions, answers and the form of schemas and values are those of Oracle.java. "to_each" asks about many
 * values of one schema: its answers are values, and the text "error" for an error.
 */
public class AvroOracle {
    static final Map<String, String> HIDDEN = Map.of(
        "generalized.sum.type.support", "generalizedSumTypeSupport",
        "ignore.default.for.nullables", "ignoreDefaultForNullables",
        "scrub.invalid.names", "scrubInvalidNames",
        "discard.type.doc.default", "discardTypeDocDefault",
        "allow.optional.map.keys", "allowOptionalMapKey");

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer = Oracle.JSON.createObjectNode();
            try {
                answer(Oracle.JSON.readTree(line), answer);
            } catch (Throwable e) {
                answer = Oracle.JSON.createObjectNode();
                answer.put("error", e.getClass().getSimpleName());
                answer.put("message", String.valueOf(e.getMessage()));
            }
            out.println(Oracle.JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    static void answer(JsonNode q, ObjectNode answer) throws Exception {
        AvroData mapping = mapping(q.get("config"));
        switch (q.get("op").textValue()) {
            case "to_schema": {
                answer.set("schema", describe(mapping.toConnectSchema(avro(q))));
                break;
            }
            case "from_schema": {
                answer.put("avro", mapping.fromConnectSchema(Oracle.schema(q.get("schema"))).toString());
                break;
            }
            case "to": {
                Schema schema = avro(q);
                SchemaAndValue result = read(mapping, schema, new GenericDatumReader<>(schema), q.get("data"));
                answer.set("schema", describe(result.schema()));
                answer.set("value", describeValue(result.value()));
                break;
            }
            case "to_each": {
                Schema schema = avro(q);
                GenericDatumReader<Object> reader = new GenericDatumReader<>(schema);
                ArrayNode answers = answer.putArray("answers");
                for (JsonNode data : q.get("data")) {
                    SchemaAndValue result;
                    try {
                        result = read(mapping, schema, reader, data);
                    } catch (Exception | StackOverflowError | OutOfMemoryError e) {
                        answers.add("error");
                        continue;
                    }
                    answers.add(describeValue(result.value()));
                }
                break;
            }
            case "from": {
                org.apache.kafka.connect.data.Schema schema = Oracle.schema(q.get("schema"));
                Schema target = mapping.fromConnectSchema(schema);
                Object made = mapping.fromConnectData(schema, Oracle.value(q.get("value")));
                answer.put("avro", target.toString());
                if (made instanceof NonRecordContainer) {
                    made = ((NonRecordContainer) made).getValue();
                }
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
                new GenericDatumWriter<Object>(target).write(made, encoder);
                encoder.flush();
                answer.put("data", bytes.toByteArray());
                break;
            }
            default:
                throw new IllegalArgumentException(q.toString());
        }
    }

    static SchemaAndValue read(AvroData mapping, Schema schema, GenericDatumReader<Object> reader, JsonNode data)
            throws Exception {
        Object read = reader.read(null, DecoderFactory.get().binaryDecoder(data.binaryValue(), null));
        SchemaAndValue result = mapping.toConnectData(schema, read);
        return result == null ? SchemaAndValue.NULL : result;
    }

    /** As in Oracle.java, but for structs, which say nothing of their schema: their defaults may be structs again. */
    static JsonNode describe(org.apache.kafka.connect.data.Schema schema) {
        if (schema == null) {
            return Oracle.JSON.nullNode();
        }
        ObjectNode node = Oracle.JSON.createObjectNode();
        node.put("type", schema.type().name());
        node.put("optional", schema.isOptional());
        node.put("name", schema.name());
        node.put("version", schema.version());
        node.put("doc", schema.doc());
        ObjectNode parameters = node.putObject("parameters");
        if (schema.parameters() != null) {
            schema.parameters().forEach(parameters::put);
        }
        node.set("default", describeValue(schema.defaultValue()));
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

    static JsonNode describeValue(Object value) {
        ArrayNode node = Oracle.JSON.createArrayNode();
        if (value instanceof Struct) {
            ArrayNode pairs = node.add("fields").addArray();
            for (Field field : ((Struct) value).schema().fields()) {
                Object item = ((Struct) value).getWithoutDefault(field.name());
                pairs.addArray().add(field.name()).add(describeValue(item));
            }
        } else if (value instanceof Iterable) {
            ArrayNode items = node.add("list").addArray();
            ((Iterable<?>) value).forEach(item -> items.add(describeValue(item)));
        } else if (value instanceof Map) {
            ArrayNode pairs = node.add("map").addArray();
            ((Map<?, ?>) value).forEach((k, v) -> pairs.addArray().add(describeValue(k)).add(describeValue(v)));
        } else {
            return Oracle.describeValue(value);
        }
        return node;
    }

    static Schema avro(JsonNode q) {
        return new Schema.Parser().parse(q.get("avro").textValue());
    }

    /**
     * A mapping of its own for each question: it remembers schemas that are equal but for their documentation. Some
     * settings of Confluent's converter are fields of this one that no setting reaches.
     */
    static AvroData mapping(JsonNode config) throws Exception {
        Map<String, String> settings = new HashMap<>();
        if (config != null) {
            config.fields().forEachRemaining(e -> settings.put(e.getKey(), e.getValue().textValue()));
        }
        AvroData mapping = new AvroData(new AvroDataConfig(settings));
        for (Map.Entry<String, String> each : HIDDEN.entrySet()) {
            if (settings.containsKey(each.getKey())) {
                java.lang.reflect.Field field = AvroData.class.getDeclaredField(each.getValue());
                field.setAccessible(true);
                field.setBoolean(mapping, Boolean.parseBoolean(settings.get(each.getKey())));
            }
        }
        return mapping;
    }
}
