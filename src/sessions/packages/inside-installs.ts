import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { GuestFailure } from "../../lib/guest-failure.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import { formatSize } from "../../policy/format-units.ts";
import type { CellPackages } from "../../runners/cell-packages.ts";
import type { HostFunctions } from "../functions/host-function.ts";
import { PackagePieces } from "./package-pieces.ts";
import { pipRequirements } from "./pip-arguments.ts";

/** What a program asks for. All of it is untrusted. */
export interface WantedPackages {
  readonly requirements: readonly string[];
  /** what the cell says it has, by normalised name; a lie changes only what is missing there */
  readonly installed: ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
}

/** What installs for programs need of their session. */
export interface InstallingSession {
  prepare(wanted: WantedPackages): Promise<CellPackages>;
  /** `proc.disk`: the files of a package take their room there */
  diskBytes(): number;
}

const mostInstalls = 100;
const installMs = 9 * 60_000;

/** `%pip install` in a session: the function that its programs call. */
export function insideInstalls(session: InstallingSession): HostFunctions {
  let offered: { readonly key: string; readonly pieces: PackagePieces } | undefined;
  let installs = 0;
  const turns = new SerialQueue();

  const begin = async (words: readonly string[], listed: readonly string[], signal: AbortSignal) => {
    if (++installs > mostInstalls)
      throw new GuestFailure("HostError", `a session installs packages at most ${mostInstalls} times`);
    const installed = installedVersions(listed);
    const { key, directory, packages } = await session.prepare({
      ...{ requirements: pipRequirements(words), installed, signal },
    });
    const pieces = await PackagePieces.open(directory);
    const room = session.diskBytes();
    if (pieces.bytes > room)
      throw new GuestFailure(
        "HostError",
        `these packages take ${formatSize(pieces.bytes)}, and proc.disk is ${formatSize(room)}`,
      );
    offered = { key, pieces };
    return { set: key, packages: packages.map(({ name, version }) => ({ name, version })) };
  };

  const next = async (key: string) => {
    if (offered?.key !== key) throw new GuestFailure("HostError", "another install has begun: install it again");
    const files = await offered.pieces.next();
    if (files.length === 0) offered = undefined;
    return { files };
  };

  return {
    pip_install: {
      description: "Installs packages from the policy's index into this session, as %pip install does.",
      kind: "packages",
      timeoutMs: installMs,
      input: inputSchema,
      call: ({ requirements = [], installed = [], set }: Input, { signal }) =>
        turns.run(async (): Promise<object> => {
          try {
            return set === undefined ? await begin(requirements, installed, signal) : await next(set);
          } catch (error) {
            throw explained(error);
          }
        }),
    },
  };
}

type Input = z.output<typeof inputSchema>;
const inputSchema = z.strictObject({
  requirements: z.array(z.string().max(500)).max(100).optional(),
  installed: z.array(z.string().max(300)).max(5_000).optional(),
  set: z.string().max(64).optional(),
});

/** Texts such as `humanize==4.9.0`. Others are left out: the cell's directories can have any name. */
function installedVersions(listed: readonly string[]): Map<string, string> {
  const versions = new Map<string, string>();
  for (const text of listed) {
    const [, name, version] = /^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.+!_-]*)$/.exec(text) ?? [];
    if (name === undefined || version === undefined) continue;
    const normal = name.replace(/[-_.]+/g, "-").toLowerCase();
    if (!versions.has(normal)) versions.set(normal, version); // the first on the path is the one that is imported
  }
  return versions;
}

const exceptions: Readonly<Record<string, string>> = { denied: "PermissionError", unknown: "LookupError" };

/** What the program may know. The attack: an error of the disk or of Node names paths of the host. */
function explained(error: unknown): GuestFailure {
  if (error instanceof GuestFailure) return error;
  const isKnown = error instanceof CodecellError && ["packages_failed", "usage", "not_supported"].includes(error.code);
  if (!isKnown) return new GuestFailure("HostError", "the host could not prepare the packages", { cause: error });
  const reason = String((error.details as { reason?: unknown } | undefined)?.reason);
  const type = error.code === "usage" ? "ValueError" : (exceptions[reason] ?? "HostError");
  return new GuestFailure(type, error.hint === undefined ? error.message : `${error.message}. Hint: ${error.hint}`);
}
