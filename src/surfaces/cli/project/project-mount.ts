import { CodecellError } from "../../../lib/errors.ts";
import type { PolicyOverride } from "../../../policy/schema.ts";

/** Where `--project` is in the cell. */
export const projectTarget = "/project";

type Mount = NonNullable<NonNullable<PolicyOverride["fs"]>["mounts"]>[number];

/** A mount like any other, so the deny globs hide the same files in it. */
export function projectMount(source: string): Mount {
  return { source, target: projectTarget, mode: "ro" };
}

/** Where no runner can mount a directory, the wasm runner can still copy it, but only if the user asks for that. */
export function hintAtCopies(error: unknown, flags: { readonly projectDir?: string | undefined }): unknown {
  const isRefused = error instanceof CodecellError && error.code === "policy_refused";
  if (flags.projectDir === undefined || !isRefused || !/\bwasm: .*fs\.mounts/.test(error.message)) return error;
  const hint = "add --runner wasm, which copies the files of --project into memory";
  return new CodecellError(error.code, error.message, { hint, details: error.details, cause: error });
}
