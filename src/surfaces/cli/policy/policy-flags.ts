import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import { levelsWithoutRunner } from "../../../policy/isolation.ts";
import { type PolicyOverride, type RunnerName, runnerNames } from "../../../policy/schema.ts";
import { suggestDuration, suggestSize } from "../../../policy/units.ts";
import type { PolicyFlags } from "./policy-options.ts";

type Mount = NonNullable<NonNullable<PolicyOverride["fs"]>["mounts"]>[number];

/** Turns flags into rules; paths are relative to the current directory. Mounts are separate, because they are added. */
export function flagsToOverride(flags: PolicyFlags, cwd: string): { override: PolicyOverride; mounts: Mount[] } {
  const output = flags["output-limit"];
  const proc = {
    ...(flags.timeout === undefined ? {} : { timeout: unit("--timeout", flags.timeout, suggestDuration) }),
    ...(flags.memory === undefined ? {} : { memory: unit("--memory", flags.memory, suggestSize) }),
    ...(output === undefined ? {} : { output: unit("--output-limit", output, suggestSize) }),
  };
  const override: PolicyOverride = {
    ...(flags.runner === undefined ? {} : { isolation: { runner: parseRunnerName(flags.runner) } }),
    ...(Object.keys(proc).length === 0 ? {} : { proc }),
    ...(flags.workspace === undefined ? {} : { fs: { workspace: resolve(cwd, flags.workspace) } }),
  };
  return { override, mounts: (flags.mount ?? []).map((text) => parseMount(text, cwd)) };
}

function parseRunnerName(text: string): RunnerName | "auto" {
  const names = ["auto", ...runnerNames] as const;
  const name = names.find((one) => one === text);
  if (name !== undefined) return name;
  const useful = names.filter((one) => !levelsWithoutRunner.includes(one));
  const near = nearest(text, useful);
  const hint = near === undefined ? `use one of: ${useful.join(", ")}` : `did you mean ${near}?`;
  throw new CodecellError("usage", `unknown runner ${JSON.stringify(text)}`, { hint });
}

/** `SRC:DST`, `SRC:DST:ro` or `SRC:DST:rw`; the source may contain colons. */
export function parseMount(text: string, cwd: string): Mount {
  const match = /^(.+?):(\/[^:]*)(?::(ro|rw))?$/.exec(text);
  const [, source, target, mode] = match ?? [];
  if (source === undefined || target === undefined) {
    throw new CodecellError("usage", `--mount ${JSON.stringify(text)} is not SRC:DST or SRC:DST:rw`, {
      hint: "use a value such as --mount ./data:/data",
    });
  }
  return { source: source.startsWith("~") ? source : resolve(cwd, source), target, mode: mode === "rw" ? "rw" : "ro" };
}

/** Reports a number without a unit here. The policy's own message would blame a file that the user never wrote. */
function unit(flag: string, text: string, suggest: (written: string) => string | undefined): string {
  const meant = suggest(text);
  if (meant === text.replace(" ", "") || meant === undefined) return text;
  throw new CodecellError("usage", `${flag} ${text} has no valid unit`, { hint: `did you mean ${meant}?` });
}
