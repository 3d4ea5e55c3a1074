/**
 * ECMAScript, run by Node in a private directory. First argument: the URL of sandbox-runtime. Standard input: one line of
 * JSON per request, `{ id, command, settings }`, or `{ ended: true }` after each wrapped command has exited.
 */
export const wrapServiceScript = `
import { createInterface } from "node:readline";
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\\n");
const { SandboxManager } = await import(process.argv[1]);
say({ errors: SandboxManager.checkDependencies().errors });
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.ended) {
    SandboxManager.cleanupAfterCommand();
    continue;
  }
  const { id, command, settings } = request;
  SandboxManager.wrapWithSandbox(command, "/bin/sh", settings).then(
    (wrapped) => say({ id, wrapped }),
    (error) => say({ id, problem: String(error?.message ?? error) }),
  );
}
process.exit(0);
`;
