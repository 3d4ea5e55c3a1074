import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { firstTemplate } from "./first-template.ts";
import { policyFileName } from "./load-policy.ts";
import { type PresetName, presets } from "./presets.ts";
import { policyTemplate } from "./template.ts";

export interface InitPolicyOptions {
  readonly preset?: PresetName;
  /** write every rule with its default, instead of an example for each section */
  readonly all?: boolean;
  /** replace an existing file */
  readonly force?: boolean;
}

/** Writes a commented policy file into a directory and returns its path. */
export async function initPolicy(directory: string, options: InitPolicyOptions = {}): Promise<string> {
  const { preset = "strict", all = false, force = false } = options;
  const path = join(directory, policyFileName);
  try {
    const text = initialPolicyText({ preset, all });
    if (force) await replace(path, text);
    else await create(path, text);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") {
      throw new CodecellError("usage", `${path} already exists`, { cause, hint: "use --force to replace it" });
    }
    throw new CodecellError("usage", messageOf(diskFailure(cause) ?? `${path} cannot be written`), {
      cause,
      hint: "check the directory, its permissions and the free disk space",
    });
  }
  return path;
}

/** The text that `initPolicy` writes. */
export function initialPolicyText({ preset = "strict", all = false }: InitPolicyOptions): string {
  return all ? policyTemplate(presets[preset]) : firstTemplate(presets[preset]);
}

async function create(path: string, text: string): Promise<void> {
  const file = await open(path, "wx", 0o644);
  try {
    await file.writeFile(text);
  } catch (error) {
    await rm(path, { force: true }); // half a policy would block the next attempt, or be read as a policy
    throw error;
  } finally {
    await file.close();
  }
}

/** Atomic: a failure leaves the old policy intact. */
async function replace(path: string, text: string): Promise<void> {
  const before = await stat(path).catch(() => undefined);
  await writeFileAtomically(path, text, before ?? { mode: 0o644 });
}
