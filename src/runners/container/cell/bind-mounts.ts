import { CodecellError } from "../../../lib/errors.ts";
import type { EngineKind } from "../engine/engine-address.ts";

/** A path of the host that a cell sees; both names may hold whatever a file name can. */
export interface BindMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

interface MountFields {
  readonly Mounts: readonly {
    readonly Type: "bind";
    readonly Source: string;
    readonly Target: string;
    readonly ReadOnly: boolean;
    readonly BindOptions?: { readonly NonRecursive: true };
  }[];
  readonly Binds: readonly string[];
}

/** What ends a field where Podman writes the mounts it was given into one line of options, and reads that again. */
const endsField = /[,"\r\n]/;

/**
 * Pure: the two fields of the Engine API that take mounts. A program names the files in a workspace, and a deny rule
 * makes such a name part of a mount: below a directory called `x,source=` it would choose what Podman mounts. Such
 * names go by the field that knows colons only.
 *
 * A read-only mount comes alone: an engine makes the directory read-only and not what the host has mounted below it, which
 * code in the cell could then write to.
 */
export function mountFields(engine: EngineKind, mounts: readonly BindMount[]): MountFields {
  const isUnsafe = (mount: BindMount) =>
    engine === "podman" && [mount.source, mount.target].some((path) => endsField.test(path));
  return {
    Mounts: mounts
      .filter((mount) => !isUnsafe(mount))
      .map(({ source, target, readOnly }) => ({
        ...{ Type: "bind", Source: source, Target: target, ReadOnly: readOnly },
        ...(readOnly ? { BindOptions: { NonRecursive: true } } : {}),
      })),
    Binds: mounts.filter(isUnsafe).map(bindText),
  };
}

function bindText({ source, target, readOnly }: BindMount): string {
  const colon = [source, target].find((path) => path.includes(":"));
  if (colon !== undefined) {
    throw new CodecellError("policy_refused", `Podman cannot mount ${JSON.stringify(colon)}`, {
      hint: "rename it: its name has a colon and a comma, a quote or a line break",
      details: { path: colon },
    });
  }
  return `${source}:${target}:${readOnly ? "ro,bind" : "rw"}`;
}
