import { builtinDeny } from "./builtin-deny.ts";
import { compileGlob, foldName, type Glob, literalName, matchesSegments } from "./glob.ts";

/** Returns the glob that denies a path, or undefined. A path is relative to a mount, or absolute on the host. */
export interface DenyMatcher {
  (path: string): string | undefined;
  /** The same for an entry whose parents are known to be allowed, so that a walk does not check them again. */
  readonly entry: (folded: readonly string[]) => string | undefined;
}

type Rule = { readonly text: string; readonly alternative: Glob["alternatives"][number] };

/** The globs in force: the built-in list without the entries that the policy removes, then the policy's own. */
export function denyGlobs(deny: readonly string[]): string[] {
  const lifted = new Set(deny.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1)));
  return [...builtinDeny.filter((glob) => !lifted.has(glob)), ...deny.filter((glob) => !glob.startsWith("!"))];
}

/** Compiles `policy.fs.deny` together with the built-in list. */
export function denyMatcher(deny: readonly string[]): DenyMatcher {
  const byName = new Map<string, Rule[]>();
  const byWildcard: Rule[] = [];
  for (const { text, alternatives } of denyGlobs(deny).map(compileGlob)) {
    for (const alternative of alternatives) {
      const name = literalName(alternative);
      if (name === undefined) byWildcard.push({ text, alternative });
      else byName.set(name, [...(byName.get(name) ?? []), { text, alternative }]);
    }
  }

  const entry = (folded: readonly string[]): string | undefined => {
    const named = byName.get(folded.at(-1) ?? "") ?? [];
    const matches = (rule: Rule) => matchesSegments(rule.alternative, folded);
    return (named.find(matches) ?? byWildcard.find(matches))?.text;
  };
  const matcher = (path: string): string | undefined => {
    const segments = foldPath(path);
    // A denied directory denies everything below it, so check every parent too.
    for (let end = 1; end <= segments.length; end++) {
      const glob = entry(segments.slice(0, end));
      if (glob !== undefined) return glob;
    }
    return undefined;
  };
  return Object.assign(matcher, { entry });
}

/** A path as folded segments. `..` is resolved lexically, so that `a/../.env` is `.env`. */
export function foldPath(path: string): string[] {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(foldName(segment));
  }
  return segments;
}
