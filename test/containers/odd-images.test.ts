import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { addressFacts } from "../../src/runners/container/engine/engine-address.ts";
import { containerRunner, gvisorRunner } from "../../src/runners/container/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { engineClient } from "../support/container-engines.ts";
import { importHostPython } from "../support/host-python-image.ts";
import { engineFor } from "./context.ts";

const kinds = [
  { needed: "container", kind: "docker", make: containerRunner },
  { needed: "gvisor", kind: "docker", make: gvisorRunner },
  { needed: "podman", kind: "podman", make: containerRunner },
] as const;
const name = "codecell-odd:latest";
const volumes = ["/data", "/tmp", "/workspace", "/workspace/below"];
const declarations = [
  `VOLUME ${JSON.stringify(volumes)}`,
  'ENTRYPOINT ["/bin/sleep", "1000"]',
  'CMD ["1000"]',
  "USER 0",
  "WORKDIR /data",
  "ENV PYTHONPATH=/data PYTHONSTARTUP=/data/x PYTHONINSPECT=1 HOME=/data LANG=C",
];

describe.each(["docker", "podman"] as const)(
  "an image that declares volumes, a user and a command, in %s",
  (engine) => {
    const host = engineFor(engine === "podman" ? "podman" : "container");
    let directory: string;
    beforeAll(async () => {
      if (host === undefined) return;
      directory = await mkdtemp(join(tmpdir(), "cc-odd-"));
      await chmod(directory, 0o711);
      const overlay = await mkdtemp(join(directory, "overlay-"));
      await chmod(overlay, 0o755);
      await mkdir(join(overlay, "data"));
      await chmod(join(overlay, "data"), 0o1777);
      await importHostPython(await engineClient(engine, host), name, { overlay, changes: declarations });
    });
    afterAll(async () => {
      if (host === undefined) return;
      await rm(directory, { recursive: true, force: true });
      const client = await engineClient(engine, host);
      await client.bytes({ method: "DELETE", path: `/images/${name}`, query: { force: true } }).catch(() => {});
    });

    const namesOfVolumes = async () => {
      const client = await engineClient(engine, host ?? "");
      const { Volumes } = await client.json<{ Volumes?: { Name: string }[] | null }>({ path: "/volumes" });
      return (Volumes ?? []).map(({ Name }) => Name).sort();
    };

    describe.each(kinds.filter(({ kind }) => kind === engine))("under the $needed runner", ({ needed, make }) => {
      const isMissing = engineFor(needed) === undefined;
      let codecell: LiveSessions;
      let session: LiveSession;
      let before: string[];
      beforeAll(async () => {
        if (isMissing) return;
        before = await namesOfVolumes();
        const addresses = addressFacts(engine === "docker" ? { DOCKER_HOST: host } : { CONTAINER_HOST: host });
        const runner = make({ engine, addresses, image: name, runtimeDir: directory });
        codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [runner] });
        session = await codecell.openSession();
      });
      afterAll(() => codecell?.close());

      test.skipIf(isMissing)("gets no volume through which code could fill the host's disk", async () => {
        const code = `
def can_write(place):
    try:
        open(place + "/x", "wb").close()
        return True
    except OSError:
        return False
{place: can_write(place) for place in ${JSON.stringify(volumes)}}`;
        const { value: result } = await session.run(code);
        expect(result).toBe("{'/data': False, '/tmp': True, '/workspace': True, '/workspace/below': False}");
        expect(await namesOfVolumes()).toEqual(before);
      });

      test.skipIf(isMissing)(
        "sets neither the command, user, working directory nor environment of the cell",
        async () => {
          const code =
            "import os\nos.getuid() > 0, os.getcwd(), os.environ['HOME'], 'PYTHONPATH' in os.environ, 'é'.encode()";
          const { value: result } = await session.run(code);
          expect(result).toBe("(True, '/workspace', '/workspace', False, b'\\xc3\\xa9')");
        },
      );
    });
  },
);
