import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { addressFacts } from "../../src/runners/container/engine/engine-address.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { engineClient } from "../support/container-engines.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { engineFor } from "./context.ts";

const kinds = [
  { needed: "container", kind: "docker", make: containerRunner },
  { needed: "gvisor", kind: "docker", make: gvisorRunner },
  { needed: "podman", kind: "podman", make: containerRunner },
] as const;

describe.each(kinds)("an unusual image in $needed", ({ needed, kind, make }) => {
  const host = engineFor(needed);
  const name = `codecell-odd-${needed}:latest`;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-odd-"));
    await chmod(directory, 0o711);
  });
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
    if (host !== undefined) await removeImage();
  });
  const removeImage = async () => {
    const client = await engineClient(kind, host ?? "");
    await client.bytes({ method: "DELETE", path: `/images/${name}`, query: { force: true } }).catch(() => {});
  };
  const open = async (changes: string[]) => {
    const overlay = await mkdtemp(join(directory, "overlay-"));
    await chmod(overlay, 0o755);
    await mkdir(join(overlay, "data"));
    await chmod(join(overlay, "data"), 0o1777);
    await removeImage(); // otherwise the previous one stays, untagged
    await importHostPython(await engineClient(kind, host ?? ""), name, { overlay, changes });
    const env = kind === "docker" ? { DOCKER_HOST: host } : { CONTAINER_HOST: host };
    const runner = make({ engine: kind, addresses: addressFacts(env), image: name, runtimeDir: directory });
    return await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
  };

  const volumes = async () => {
    const client = await engineClient(kind, host ?? "");
    const { Volumes } = await client.json<{ Volumes?: { Name: string }[] | null }>({ path: "/volumes" });
    return (Volumes ?? []).map(({ Name }) => Name).sort();
  };

  test.skipIf(host === undefined)("gets no volume through which code could fill the host's disk", async () => {
    const before = await volumes();
    const declared = ["/data", "/tmp", "/workspace", "/workspace/below"];
    await using codecell = await open([`VOLUME ${JSON.stringify(declared)}`]);
    await using session = await codecell.openSession();
    const code = `
def can_write(place):
    try:
        open(place + "/x", "wb").close()
        return True
    except OSError:
        return False
{place: can_write(place) for place in ${JSON.stringify(declared)}}`;
    const { value: result } = await session.run(code);
    expect(result).toBe("{'/data': False, '/tmp': True, '/workspace': True, '/workspace/below': False}");
    expect(await volumes()).toEqual(before);
  });

  test.skipIf(host === undefined)(
    "sets neither the entrypoint, user, working directory nor environment of the cell",
    async () => {
      await using codecell = await open([
        'ENTRYPOINT ["/bin/sleep", "1000"]',
        'CMD ["1000"]',
        "USER 0",
        "WORKDIR /data",
        "ENV PYTHONPATH=/data PYTHONSTARTUP=/data/x PYTHONINSPECT=1 HOME=/data LANG=C",
      ]);
      await using session = await codecell.openSession();
      const code =
        "import os\nos.getuid() > 0, os.getcwd(), os.environ['HOME'], 'PYTHONPATH' in os.environ, 'é'.encode()";
      const { value: result } = await session.run(code);
      expect(result).toBe("(True, '/workspace', '/workspace', False, b'\\xc3\\xa9')");
    },
  );
});
