import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;
import org.sourcelab.kafka.connect.apiclient.request.post.PostConnectorRestart;
import org.sourcelab.kafka.connect.apiclient.rest.exceptions.InvalidRequestException;

/** Drives kafka-connect-client: an operation a line on standard input, what the client returned or threw on output. */
public class Drive {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] words) throws Exception {
        var client = new KafkaConnectClient(new Configuration(words[0]));
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            System.out.println(JSON.writeValueAsString(answer(client, JSON.readTree(line))));
        }
    }

    private static Map<String, Object> answer(KafkaConnectClient client, JsonNode ask) {
        var answer = new HashMap<String, Object>();
        try {
            answer.put("returned", operate(client, ask));
        } catch (UnsupportedOperationException unknown) {
            answer.put("unknown", unknown.getMessage());
        } catch (InvalidRequestException error) {
            answer.put("raised", error.getClass().getSimpleName());
            answer.put("status", error.getErrorCode());
            answer.put("message", error.getMessage());
        }
        return answer;
    }

    private static Object operate(KafkaConnectClient client, JsonNode ask) {
        String name = ask.path("name").asText();
        int task = ask.path("task").asInt();
        Map<String, String> config = new HashMap<>();
        ask.path("config").fields().forEachRemaining(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        return switch (ask.get("do").asText()) {
            case "version" -> client.getConnectServerVersion();
            case "plugins" -> client.getConnectorPlugins();
            case "validate" -> client.validateConnectorPluginConfig(
                    new ConnectorPluginConfigDefinition(ask.get("plugin").asText(), config));
            case "list" -> client.getConnectors();
            case "list with info" -> client.getConnectorsWithExpandedInfo().getMappedDefinitions();
            case "list with status" -> client.getConnectorsWithExpandedStatus().getMappedStatuses();
            case "list with all" -> {
                var found = client.getConnectorsWithAllExpandedMetadata();
                yield List.of(found.getMappedDefinitions(), found.getMappedStatuses());
            }
            case "create" -> client.addConnector(new NewConnectorDefinition(name, config));
            case "put" -> client.updateConnectorConfig(name, config);
            case "info" -> client.getConnector(name);
            case "config" -> client.getConnectorConfig(name);
            case "status" -> client.getConnectorStatus(name);
            case "tasks" -> client.getConnectorTasks(name);
            case "task status" -> client.getConnectorTaskStatus(name, task);
            case "pause" -> client.pauseConnector(name);
            case "resume" -> client.resumeConnector(name);
            case "stop" -> client.stopConnector(name);
            case "restart" -> client.restartConnector(name);
            case "restart all" -> client.restartConnector(new PostConnectorRestart(name).withIncludeTasks(true));
            case "restart failed" -> client.restartConnector(
                    new PostConnectorRestart(name).withIncludeTasks(true).withOnlyFailed(true));
            case "restart task" -> client.restartConnectorTask(name, task);
            case "topics" -> client.getConnectorTopics(name);
            case "reset topics" -> client.resetConnectorTopics(name);
            case "delete" -> client.deleteConnector(name);
            default -> throw new UnsupportedOperationException(ask.get("do").asText());
        };
    }
}
