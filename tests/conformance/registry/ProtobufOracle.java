import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;

/**
 * Answers which bytes Protobuf's Java takes for messages, and what it writes when it has read them.
 *
 * A question a line: the files of a schema, each behind those it imports, the full name of a message, and records; all
 * bytes in base64. The answer has a text for each record, null where it is no message.
 */
public class ProtobufOracle {
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            ObjectNode answer = JSON.createObjectNode();
            JsonNode q = JSON.readTree(line);
            Descriptor message = descriptor(q);
            ArrayNode answers = answer.putArray("answers");
            for (JsonNode record : q.get("data")) {
                try {
                    answers.add(Base64.getEncoder().encodeToString(written(DynamicMessage.parseFrom(message, record.binaryValue()))));
                } catch (InvalidProtocolBufferException e) {
                    answers.addNull();
                }
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    static byte[] written(DynamicMessage message) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        out.useDeterministicSerialization();
        message.writeTo(out);
        out.flush();
        return bytes.toByteArray();
    }

    static Descriptor descriptor(JsonNode q) throws Exception {
        Map<String, FileDescriptor> built = new HashMap<>();
        String name = q.get("message").textValue();
        Descriptor found = null;
        for (JsonNode each : q.get("files")) {
            FileDescriptorProto file = FileDescriptorProto.parseFrom(each.binaryValue());
            FileDescriptor[] imported = file.getDependencyList().stream().map(built::get).toArray(FileDescriptor[]::new);
            FileDescriptor descriptor = FileDescriptor.buildFrom(file, imported);
            built.put(file.getName(), descriptor);
            String start = file.getPackage().isEmpty() ? "" : file.getPackage() + ".";
            if (name.startsWith(start) && descriptor.findMessageTypeByName(name.substring(start.length())) != null) {
                found = descriptor.findMessageTypeByName(name.substring(start.length()));
            }
        }
        return found;
    }
}
