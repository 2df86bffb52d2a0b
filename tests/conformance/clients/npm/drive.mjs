// Drives kafka-connect-client: an operation a line on standard input, what the client returned or threw on output.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

// The client is where it was installed, not beside this file.
const { KafkaConnectClient } = createRequire(process.env.CLIENT_FOLDER + "/")("kafka-connect-client");
const { protocol, hostname, port } = new URL(process.argv[2]);
const client = new KafkaConnectClient({ protocol: protocol.replace(":", ""), host: hostname, port: Number(port) });
const connector = (ask) => client.connector(ask.name);

const OPERATIONS = {
  version: () => client.getCluster(),
  plugins: () => client.getConnectorPlugins(),
  "all plugins": () => client.getConnectorPlugins({ connectorsOnly: false }),
  validate: (ask) => client.validateConnectorConfig(ask.plugin, ask.config),
  list: () => client.getConnectors(),
  "list with info": () => client.getConnectors({ expand: "info" }),
  "list with status": () => client.getConnectors({ expand: "status" }),
  "list with all": () => client.getConnectors({ expand: ["info", "status"] }),
  create: (ask) => client.createConnector(ask.name, ask.config),
  put: (ask) => connector(ask).updateConfig(ask.config),
  info: (ask) => connector(ask).get(),
  config: (ask) => connector(ask).getConfig(),
  status: (ask) => connector(ask).getStatus(),
  tasks: (ask) => connector(ask).getTasks(),
  "task status": (ask) => connector(ask).getTaskStatus(ask.task),
  pause: (ask) => connector(ask).pause(),
  resume: (ask) => connector(ask).resume(),
  stop: (ask) => connector(ask).stop(),
  restart: (ask) => connector(ask).restart(),
  "restart all": (ask) => connector(ask).restart({ includeTasks: true }),
  "restart failed": (ask) => connector(ask).restart({ includeTasks: true, onlyFailed: true }),
  "restart task": (ask) => connector(ask).restartTask(ask.task),
  topics: (ask) => connector(ask).getTopics(),
  "reset topics": (ask) => connector(ask).resetTopics(),
  offsets: (ask) => connector(ask).getOffsets(),
  "alter offsets": (ask) => connector(ask).alterOffsets(ask.offsets),
  "reset offsets": (ask) => connector(ask).resetOffsets(),
  delete: (ask) => connector(ask).delete(),
};

async function answer(ask) {
  const operation = OPERATIONS[ask.do];
  if (!operation) return { unknown: ask.do };
  try {
    const { status, data } = await operation(ask);
    return { returned: data, status };
  } catch (error) {
    return { raised: error.name, status: error.response?.status ?? null, message: error.response?.data ?? error.message };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
