import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { loadOnce } from "../../lib/load-once.ts";
import type { Trajectory } from "../../rlm/trajectory/reader.ts";
import type { TrajectoryTree } from "../../rlm/trajectory/tree.ts";
import type { Session } from "../../sessions/session.ts";

/** A trajectory in a list. */
export interface TrajectorySummary {
  readonly id: string;
  readonly tree: TrajectoryTree;
}

/** Loaded where one is read: most services have none. */
const reading = loadOnce(async () => {
  const [{ readTrajectory }, { trajectoryTree }] = await Promise.all([
    import("../../rlm/trajectory/reader.ts"),
    import("../../rlm/trajectory/tree.ts"),
  ]);
  return { readTrajectory, trajectoryTree };
});

/** Made by `SubAgents`: a time, and enough random bytes that nobody guesses it. */
const idPattern = /^[0-9TZ-]{24}-[0-9a-f]{16}$/;
const maxListed = 50;
/** Larger ones are not shown: reading them would take seconds and their size in memory. */
const maxBytes = 8 * 1024 * 1024;
/** A service that was killed leaves those of its sessions behind. */
const maxAgeMs = 30 * 24 * 3_600_000;

/** The trajectories of a service: a directory for each session, by its full id with the namespace. */
export class SessionTrajectories {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The full id is checked where it is made: it is the name of a directory elsewhere too. */
  directoryOf({ key }: Pick<Session, "key">): string {
    return join(this.#directory, key);
  }

  /** The last ones of a session, oldest first, as `describe` sees them. Only one of them is in memory at a time. */
  async list<Described>(
    session: Pick<Session, "key">,
    describe: (trajectory: TrajectorySummary) => Described,
  ): Promise<readonly Described[]> {
    const names = await readdir(this.directoryOf(session)).catch(() => []);
    const ids = names.flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : []));
    const latest = ids
      .filter((id) => idPattern.test(id))
      .sort()
      .slice(-maxListed);
    const found: Described[] = [];
    for (const id of latest) {
      const tree = await this.#tree(session, id).catch(() => undefined);
      if (tree) found.push(describe({ id, tree }));
    }
    return found;
  }

  async read(session: Pick<Session, "key">, id: string): Promise<TrajectoryTree> {
    // The attack: an id with slashes, which names a file elsewhere.
    const tree = idPattern.test(id) ? await this.#tree(session, id) : undefined;
    if (tree) return tree;
    throw new CodecellError("run_gone", "this session has no such trajectory", {
      hint: "…/models lists the trajectories of the session",
    });
  }

  /** A session that is gone takes them with it. */
  async remove(key: string): Promise<void> {
    await rm(this.directoryOf({ key }), { recursive: true, force: true });
  }

  /** Removes those of sessions that had no new one for 30 days. */
  async prune(nowMs: number): Promise<void> {
    for (const name of await readdir(this.#directory).catch(() => [])) {
      const path = join(this.#directory, name);
      const { mtimeMs = nowMs } = (await stat(path).catch(() => undefined)) ?? {};
      if (nowMs - mtimeMs > maxAgeMs) await rm(path, { recursive: true, force: true });
    }
  }

  async #tree(session: Pick<Session, "key">, id: string): Promise<TrajectoryTree | undefined> {
    const path = join(this.directoryOf(session), `${id}.jsonl`);
    const size = await stat(path).then(
      (found) => found.size,
      () => undefined,
    );
    if (size === undefined) return undefined;
    if (size > maxBytes) {
      throw new CodecellError("too_large", `the trajectory has ${size} bytes, the limit is ${maxBytes}`, {
        hint: "`codecell rlm show` on the machine of the service shows it",
      });
    }
    // One that has just begun has no whole line yet.
    const { readTrajectory, trajectoryTree } = await reading();
    const read: Pick<Trajectory, "events"> = await readTrajectory(path).catch(() => ({ events: [] }));
    return trajectoryTree(read.events);
  }
}
