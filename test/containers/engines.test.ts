import { describe, expect, test } from "vitest";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { engineClient } from "../support/container-engines.ts";
import { engineFor } from "./context.ts";

const packages = [
  ...["numpy", "pandas", "scipy.stats", "scipy.optimize", "matplotlib.pyplot", "PIL.Image", "requests", "IPython"],
  ...["openpyxl", "lxml.etree", "bs4", "yaml", "tabulate", "sympy", "networkx"],
];

// Podman has a copy of Docker's image.
describe.each(["container", "gvisor"] as const)("the default image for the tests of %s", (needed) => {
  const host = engineFor(needed);

  test.skipIf(host === undefined)("imports the data packages as an unprivileged user", async () => {
    const client = await engineClient("docker", host ?? "");
    const code = `import os, ${packages.join(", ")}; print(os.getuid(), numpy.arange(4).sum())`;
    const output = await runInImage(client, ["python3", "-c", code], needed === "gvisor" ? "runsc" : undefined);
    expect(output).toContain("10001 6");
  });
});

const host = engineFor("container");
test.skipIf(host === undefined)("the default image has no set-user-ID program and no compiler", async () => {
  const client = await engineClient("docker", host ?? "");
  const script = "find / -xdev -type f -perm /6000 2>/dev/null; command -v gcc curl git sudo; echo end";
  expect(await runInImage(client, ["sh", "-c", script])).toMatch(/^end\s*$/);
});

/** The output of a command in a container of the image. */
async function runInImage(client: EngineClient, command: string[], runtime?: string): Promise<string> {
  const { Id } = await client.json<{ Id: string }>({
    method: "POST",
    path: "/containers/create",
    json: {
      ...{ Image: defaultImage(), Cmd: command, NetworkDisabled: true, Tty: true }, // with a terminal, the engine does not frame the output
      HostConfig: { NetworkMode: "none", ...(runtime === undefined ? {} : { Runtime: runtime }) },
    },
  });
  try {
    await client.bytes({ method: "POST", path: `/containers/${Id}/start` });
    await client.bytes({ method: "POST", path: `/containers/${Id}/wait`, timeoutMs: 90_000 });
    const query = { stdout: true, stderr: true };
    return (await client.bytes({ path: `/containers/${Id}/logs`, query })).toString();
  } finally {
    await client.bytes({ method: "DELETE", path: `/containers/${Id}`, query: { force: true } });
  }
}
