import { randomBytes } from "node:crypto";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { isHeld, takeLock } from "../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";

/** A file that tells other processes of the same user how to reach a service. */
const noteSchema = z.strictObject({
  version: z.literal(1),
  url: z.url(),
  /** path of a lock that is held while the service runs */
  lock: z.string(),
  startedMs: z.int(),
});
type Note = z.output<typeof noteSchema>;

const maxNoteBytes = 8_192;

/** Publishes the address of a service to processes that use the same state directory, until it is disposed. */
export async function publishService(options: {
  readonly stateDir: string;
  readonly runtimeDir?: string | undefined;
  readonly url: string;
  /** wall-clock milliseconds; default Date.now */
  readonly now?: () => number;
}): Promise<AsyncDisposable> {
  const tag = randomBytes(6).toString("hex");
  await using cleanup = new Cleanup();
  const lock = await takeLock(join(await openRuntimeDirectory(options.runtimeDir), `service-${tag}`));
  if (!lock) throw new CodecellError("internal", "the lock of a new service is already held");
  cleanup.defer(() => lock[Symbol.asyncDispose]());
  const directory = notesDirectory(options.stateDir);
  await makeDirectories(directory, 0o700);
  await removeDead(directory);
  const path = join(directory, `${tag}.json`);
  const note: Note = { version: 1, url: options.url, lock: lock.path, startedMs: (options.now ?? Date.now)() };
  await writeFileAtomically(path, `${JSON.stringify(note)}\n`);
  cleanup.defer(() => rm(path, { force: true }));
  return cleanup.move();
}

/** The address of the running service of a state directory; if there are several, the one that started last. */
export async function findService(stateDir: string): Promise<string | undefined> {
  const notes = await readNotes(notesDirectory(stateDir));
  for (const { url, lock } of notes.sort((a, b) => b.startedMs - a.startedMs)) if (await isHeld(lock)) return url;
  return undefined;
}

function notesDirectory(stateDir: string): string {
  return join(stateDir, "services");
}

async function readNotes(directory: string): Promise<(Note & { readonly path: string })[]> {
  const names = await readdir(directory).catch(() => []);
  const notes = names.filter((name) => /^[0-9a-f]{12}\.json$/.test(name)).map((name) => join(directory, name));
  const read = await Promise.all(notes.map(async (path) => ({ path, note: await readNote(path) })));
  return read.flatMap(({ path, note }) => (note ? [{ ...note, path }] : []));
}

/** Ignores notes of other users. The attack: a note sends links to files to an attacker's server. */
async function readNote(path: string): Promise<Note | undefined> {
  const file = await open(path, "r").catch(() => undefined);
  if (!file) return undefined;
  try {
    const { uid, mode, size } = await file.stat();
    if (uid !== process.getuid?.() || (mode & 0o077) !== 0 || size > maxNoteBytes) return undefined;
    return noteSchema.safeParse(JSON.parse(await file.readFile("utf8"))).data;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

/** Removes the notes of services that were killed. */
async function removeDead(directory: string): Promise<void> {
  for (const { path, lock } of await readNotes(directory)) if (!(await isHeld(lock))) await rm(path, { force: true });
}
