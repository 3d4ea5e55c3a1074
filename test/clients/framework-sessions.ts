import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cleanup } from "../../src/lib/cleanup.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { CodeSession } from "../../src/sessions/code-session.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { smallPng } from "../fakes/small-png.ts";

/** A codecell with real cells, for the tests of one framework. */
export interface OpenCodecell extends AsyncDisposable {
  readonly codecell: Codecell;
}

export async function openCodecell(policy: PolicyInput = {}): Promise<OpenCodecell> {
  await using cleanup = new Cleanup();
  const stateDir = await mkdtemp(join(tmpdir(), "codecell-frameworks-"));
  cleanup.defer(() => rm(stateDir, { recursive: true, force: true }));
  const codecell = await Codecell.open({ policy, runners: [processRunner()], stateDir });
  cleanup.defer(() => codecell.close());
  const owner = cleanup.move();
  return { codecell, [Symbol.asyncDispose]: () => owner[Symbol.asyncDispose]() };
}

/** Only what the library's session and the client's have in common: no policy, no methods of the library alone. */
export function clientLike(session: CodeSession): CodeSession {
  return {
    id: session.id,
    run: (code, options) => session.run(code, options),
    upload: (path, source, signal) => session.upload(path, source, signal),
    files: () => session.files(),
    close: (options) => session.close(options),
  };
}

export const imageBase64 = smallPng().toString("base64");
/** A program that displays an image without a package. */
export const showImage = `import base64
class Figure:
    def _repr_png_(self):
        return base64.b64decode("${imageBase64}")
display(Figure())`;

/** 1.2 MB, of which the policy keeps 1 MiB and a model sees less than 20,000 characters. */
export const printMuch = "for i in range(12_000): print(i, 'x' * 94)";

/** Creates the file `started`, and remembers in `was_interrupted` that it was stopped. */
export const sleepUntilInterrupted = `import time
try:
    open("started", "w").close()  # inside: the interrupt may come as soon as the file is there
    time.sleep(25)
except KeyboardInterrupt:
    was_interrupted = True
    raise`;

/** Waits until code in a session has created a file. */
export async function waitForFile(session: CodeSession, path: string): Promise<void> {
  const files = await session.files();
  while ((await files.list({ prefix: path })).files.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 20));
}
