import { lstat } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { writableHostPaths } from "../paths/host-grants.ts";
import { isBelow } from "../paths/host-path.ts";
import type { Policy } from "../schema.ts";
import { policyFileName } from "./load-policy.ts";

/**
 * The attack: a program can write to the directory where codecell looks for its policy. It rewrites the policy, or creates
 * one, and the next call obeys it. An existing file is hidden from the program; without one, the directory is refused.
 */
export async function guardPolicyFile(
  policy: Policy,
  { cwd, file }: { cwd: string; file: string | undefined },
): Promise<Policy> {
  const watched = new Set([resolve(cwd, policyFileName), ...(file === undefined ? [] : [file])]);
  const writable = writableHostPaths(policy);
  const exposed = [...watched].filter((path) => writable.some((source) => path === source || isBelow(path, source)));
  for (const path of exposed) {
    if (await exists(path)) continue;
    throw new CodecellError(
      "policy_refused",
      `the program could create ${basename(path)} in ${dirname(path)}, and the next call would obey it`,
      {
        hint: "run `codecell policy init` first, which hides the file from the program, or use another directory",
        details: { rule: "fs.workspace" },
      },
    );
  }
  const names = exposed.map((path) => basename(path));
  if (names.some((name) => !/^[\w.-]+$/.test(name))) {
    throw new CodecellError("policy_refused", "the program could rewrite its own policy file", {
      hint: "move the policy file out of the directory that the program may write to",
    });
  }
  return { ...policy, fs: { ...policy.fs, deny: [...new Set([...policy.fs.deny, ...names])] } };
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
