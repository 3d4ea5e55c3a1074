import { CodecellError } from "../../../lib/errors.ts";
import type { EngineKind } from "../engine/engine-address.ts";

/** A host path that a cell sees. Both paths may contain any character that a file name can. */
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

/** Characters that end a field when Podman joins the mounts into one line of options and parses that line again. */
const endsField = /[,"\r\n]/;

/**
 * Pure: the two fields of the Engine API for mounts. Programs choose the names of files in a workspace, and a deny rule
 * makes such a name part of a mount. This stops an injection: with a directory called `x,source=`, a program could choose
 * what Podman mounts. Such names go into `Binds`, which is split at colons only.
 *
 * A read-only mount is not recursive: an engine makes the directory read-only, but not the file systems mounted below it,
 * and code in the cell could write to those.
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
      hint: "rename it: its name contains a colon together with a comma, a quote or a line break",
      details: { path: colon },
    });
  }
  return `${source}:${target}:${readOnly ? "ro,bind" : "rw"}`;
}
