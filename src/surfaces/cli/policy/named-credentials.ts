import { realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { builtinDeny } from "../../../policy/paths/builtin-deny.ts";
import { type DenyMatcher, denyMatcher } from "../../../policy/paths/deny.ts";
import { expandBraces, hostGlob } from "../../../policy/paths/glob.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { Terminal } from "../shell/terminal.ts";
import { movedDirectory, wholePath } from "./credential-variables.ts";

const variables = new Set([...wholePath, ...Object.keys(movedDirectory)]);

/**
 * Adds the credentials that environment variables point to. The attack: `AWS_SHARED_CREDENTIALS_FILE` names a file in the
 * project that no glob of the built-in list matches, and code loads it. `!//path` in `fs.deny` keeps such a path open.
 */
export async function denyNamedCredentials(
  policy: Policy,
  { env, cwd }: Pick<Terminal, "env" | "cwd">,
): Promise<Policy> {
  if (!Object.keys(env).some((name) => variables.has(name))) return policy;
  const named = [
    ...wholePath.flatMap((name) => (env[name] ?? "").split(":").filter(Boolean)).map((path) => ({ path, rest: "" })),
    ...Object.entries(movedDirectory).flatMap(([name, usual]) =>
      env[name] ? deniedBelow(usual).map((rest) => ({ path: env[name] ?? "", rest })) : [],
    ),
  ];
  const denies = denyMatcher(policy.fs.deny);
  const globs = await Promise.all(named.map(({ path, rest }) => globsOf(resolve(cwd, path), rest, denies)));
  const known = new Set(policy.fs.deny);
  const added = [...new Set(globs.flat())].filter((glob) => !known.has(glob) && !known.has(`!${glob}`));
  return added.length === 0 ? policy : { ...policy, fs: { ...policy.fs, deny: [...policy.fs.deny, ...added] } };
}

/** What the built-in list denies below a directory of the home directory, relative to it. */
function deniedBelow(usual: string): string[] {
  return builtinDeny
    .flatMap((glob) => expandBraces(glob) ?? [])
    .filter((glob) => glob.startsWith(`${usual}/`))
    .map((glob) => glob.slice(usual.length));
}

/** The path as it was written, and the real one: links are resolved before a file is opened. */
async function globsOf(path: string, rest: string, denies: DenyMatcher): Promise<string[]> {
  if (dirname(path) === path) return []; // `/` would deny the whole host
  const real = await realpath(path).catch(() => path);
  const places = [...new Set([path, real])].filter(
    (place) => denies(place + rest.replace(/\/\*\*$/, "")) === undefined,
  );
  return places.map((place) => `${hostGlob(place)}${rest}`);
}
