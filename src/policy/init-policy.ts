import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CodecellError } from "../lib/errors.ts";
import { policyFileName } from "./load-policy.ts";
import { type PresetName, presets } from "./presets.ts";
import { policyTemplate } from "./template.ts";

export interface InitPolicyOptions {
  readonly preset?: PresetName;
  /** replaces a file that is there */
  readonly force?: boolean;
}

/** Writes a commented policy file into a directory and answers with its path. */
export async function initPolicy(directory: string, options: InitPolicyOptions = {}): Promise<string> {
  const { preset = "strict", force = false } = options;
  const path = join(directory, policyFileName);
  try {
    await writeFile(path, policyTemplate(presets[preset]), { flag: force ? "w" : "wx", mode: 0o644 });
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === "EEXIST";
    const hint = isThere ? "--force replaces it" : "check the directory and its permissions";
    throw new CodecellError("usage", `${path} ${isThere ? "exists already" : "cannot be written"}`, { cause, hint });
  }
  return path;
}
