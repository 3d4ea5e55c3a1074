// npm run test:kubernetes: codecell on a real Kubernetes cluster. See docs/adr/0052-the-test-cluster.md.
//
//   node scripts/test-kubernetes [--only NAME,NAME] [--keep] [--kubeconfig FILE] [--json] [--figures]
//       --figures keeps the results in docs/kubernetes-figures.md and .json
//       --kubeconfig uses a cluster that exists: CODECELL_KUBERNETES_IMAGE names the cells' image. It creates or replaces the namespaces
//       and rights of deploy/manifests, and leaves them there
//   node scripts/test-kubernetes up [--policies enforced|ignored] [--detach]    a cluster for other tests
//   node scripts/test-kubernetes exec COMMAND...                                 a command in its network, with KUBECONFIG
//   node scripts/test-kubernetes record-streams                                  what it says over streams, for test/fakes
//   node scripts/test-kubernetes order unplug/node2                              see takeOrders in cluster/inside.js
//   node scripts/test-kubernetes status | down
import { down, exec, order, recordStreams, status, up } from "./commands.js";
import { test } from "./test.js";

const commands = { up, exec, "record-streams": recordStreams, order, status, down };
const [first = "", ...rest] = process.argv.slice(2);
const command = commands[first];
try {
  process.exitCode = command ? await command(rest) : await test(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? (process.env.DEBUG ? error : `${error.message}${reason(error)}`) : error);
  process.exit(1); // something may still be waiting
}

function reason({ cause }) {
  return cause instanceof Error ? `\n${cause.message}` : "";
}
