import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineClient } from "../../src/runners/container/engine/engine-client.ts";
import { defaultImage } from "../../src/runners/container/image/default-image.ts";
import { imageLabels } from "../../src/runners/container/image/image-list.ts";
import { importHostPython } from "./host-python-image.ts";

const names = [
  ...[
    "bash",
    "sh",
    "sleep",
    "cat",
    "ls",
    "echo",
    "true",
    "false",
    "id",
    "env",
    "cp",
    "mv",
    "rm",
    "mkdir",
    "ln",
    "chmod",
  ],
  ...["dd", "df", "du", "head", "tail", "wc", "sort", "stat", "touch", "tr", "uname", "yes", "seq", "timeout", "kill"],
  ...["grep", "sed", "find", "ps", "hostname", "readlink", "basename", "dirname", "printf", "test"],
];

/**
 * Gives an engine a small image under the name of the default one: this machine's Python with a few programs, and the user and directories
 * of the real image. It has no data packages.
 */
export async function importSmallImage(client: EngineClient): Promise<void> {
  const programs = ["/usr/bin", "/bin"]
    .flatMap((place) => names.map((name) => `${place}/${name}`))
    .filter((path) => existsSync(path));
  const overlay = await mkdtemp(join(tmpdir(), "codecell-small-image-"));
  try {
    for (const directory of ["etc", "tmp", "workspace", "deps"]) await mkdir(join(overlay, directory));
    for (const directory of ["tmp", "workspace"]) await chmod(join(overlay, directory), 0o1777);
    await writeFile(
      join(overlay, "etc/passwd"),
      "root:x:0:0:root:/root:/bin/sh\ncell:x:10001:10001::/workspace:/bin/bash\n",
    );
    await writeFile(join(overlay, "etc/group"), "root:x:0:\ncell:x:10001:\n");
    const labels = imageLabels(defaultImage().split(":")[1] ?? "", "this machine");
    const changes = [
      ...Object.entries(labels).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`),
      ...["USER 10001:10001", "WORKDIR /workspace", 'CMD ["python3"]'],
    ];
    await importHostPython(client, defaultImage(), { programs, overlay, changes });
  } finally {
    await rm(overlay, { recursive: true, force: true });
  }
}
