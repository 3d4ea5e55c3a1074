import { expect, inject, test } from "vitest";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { engineClient } from "../support/container-engines.ts";
import { engineFor } from "./context.ts";

const packages = [
  ...["numpy", "pandas", "scipy.stats", "scipy.optimize", "matplotlib.pyplot", "PIL.Image", "requests", "IPython"],
  ...["openpyxl", "lxml.etree", "bs4", "yaml", "tabulate", "sympy", "networkx"],
];

const host = engineFor("container");
/** The tests are about the real image (test/support/image-record.ts says when there is one). */
const isMissing = host === undefined || inject("containers").image.kind !== "built";
// On gVisor, presets.test.ts imports those that have most of their code outside of Python.
test.skipIf(isMissing)("the default image imports the data packages as an unprivileged user", async () => {
  const client = await engineClient("docker", host ?? "");
  const code = `import os, ${packages.join(", ")}; print(os.getuid(), numpy.arange(4).sum())`;
  expect(await runInImage(client, ["python3", "-c", code])).toContain("10001 6");
});

test.skipIf(isMissing)(
  "the default image has no set-user-ID program, no compiler and no tests of packages",
  async () => {
    const client = await engineClient("docker", host ?? "");
    const unwanted = "find / -xdev -type f -perm /6000 2>/dev/null; command -v gcc curl git sudo";
    const script = `${unwanted}; find /usr/lib/python3/dist-packages -path '*/tests/*'; echo end`;
    expect(await runInImage(client, ["sh", "-c", script])).toMatch(/^end\s*$/);
  },
);

/** The output of a command in a container of the image. */
async function runInImage(client: EngineClient, command: string[]): Promise<string> {
  const { Id } = await client.json<{ Id: string }>({
    method: "POST",
    path: "/containers/create",
    json: {
      ...{ Image: defaultImage(), Cmd: command, NetworkDisabled: true, Tty: true }, // with a terminal, the engine does not frame the output
      HostConfig: { NetworkMode: "none" },
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
