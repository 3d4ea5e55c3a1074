// A host whose session has an endless run, to be killed by a test.
import { parsePolicy } from "../../dist/policy/file/parse-policy.js";
import { addressFacts } from "../../dist/runners/container/engine/engine-address.js";
import { containerRunner, gvisorRunner } from "../../dist/runners/container/runner.js";
import { LiveSessions } from "../../dist/sessions/live-sessions.js";

const [kind, host, image, runtimeDir] = process.argv.slice(2);
const make = kind === "gvisor" ? gvisorRunner : containerRunner;
const runner = make({ engine: "docker", addresses: addressFacts({ DOCKER_HOST: host }), image, runtimeDir });
const codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
const session = await codecell.openSession();
const run = session.run("print('on', flush=True)\nimport time\nwhile True: time.sleep(1)");
for await (const { type } of run) if (type === "stdout") process.stdout.write("up\n");
