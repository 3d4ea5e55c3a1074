import { once } from "../../lib/once.ts";
import { builtinDeny, obeyedByTheHost, publicFiles } from "./builtin-deny.ts";
import { compileGlob, foldName, type Glob, isHostGlob, literalName, matchesSegments } from "./glob.ts";

/** Returns the glob that denies a path, or undefined. A path is absolute on the host, or relative to a mount. */
export interface DenyMatcher {
  (path: string): string | undefined;
  /** The same for an entry whose parents are known to be allowed, so that a walk does not check them again. */
  readonly entry: (folded: readonly string[]) => string | undefined;
  /**
   * The same for paths relative to a host directory. Globs with several names, such as `.config/gcloud/**`, are compared
   * with the absolute path too, or a mount of `~/.config` would show what they deny.
   */
  readonly below: (directory: string) => DenyMatcher;
}

type Rule = { readonly text: string; readonly alternative: Glob["alternatives"][number] };

/** Rules that can be looked up by the last name of a path. */
class RuleIndex {
  readonly #byName = new Map<string, Rule[]>();
  readonly #byWildcard: Rule[] = [];

  constructor(rules: readonly Rule[]) {
    for (const rule of rules) {
      const name = literalName(rule.alternative);
      if (name === undefined) this.#byWildcard.push(rule);
      else this.#byName.set(name, [...(this.#byName.get(name) ?? []), rule]);
    }
  }

  find(folded: readonly string[]): string | undefined {
    const name = folded.at(-1) ?? "";
    const named = this.#byName.get(name) ?? [];
    const isPublic = (rule: Rule) => rule.text === "*.pem" && publicFiles.has(name);
    const matches = (rule: Rule) => matchesSegments(rule.alternative, folded) && !isPublic(rule);
    return (named.find(matches) ?? this.#byWildcard.find(matches))?.text;
  }
}

/** The globs in force: the built-in list without the entries that the policy removes, then the policy's own. */
export function denyGlobs(deny: readonly string[]): string[] {
  const lifted = new Set(deny.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1)));
  return [...builtinDeny, ...deny.filter((glob) => !glob.startsWith("!"))].filter((glob) => !lifted.has(glob));
}

/** `policy.fs.deny` together with the built-in list. The globs are compiled on first use: most policies show no host file. */
export function denyMatcher(deny: readonly string[]): DenyMatcher {
  const rules = once(() => rulesOf(denyGlobs(deny)));
  const all = once(() => new RuleIndex(rules()));
  const below = (directory: string): DenyMatcher => {
    const place = foldPath(directory);
    const relative = new RuleIndex(rules().filter(({ text }) => !isHostGlob(text)));
    const absolute = new RuleIndex(rules().filter(needsWholePath));
    return matcherOf((folded) => relative.find(folded) ?? absolute.find([...place, ...folded]), below);
  };
  return matcherOf((folded) => all().find(folded), below);
}

const obeyed = once(() => {
  const index = new RuleIndex(rulesOf(obeyedByTheHost));
  return matcherOf((folded) => index.find(folded), denyMatcher([]).below);
});

/** Whether tools on the host run or obey a file of this name, such as a git hook. */
export function isObeyedByHost(path: string): boolean {
  return obeyed()(path) !== undefined;
}

function rulesOf(globs: readonly string[]): Rule[] {
  return globs
    .map(compileGlob)
    .flatMap(({ text, alternatives }) => alternatives.map((alternative) => ({ text, alternative })));
}

function matcherOf(entry: DenyMatcher["entry"], below: DenyMatcher["below"]): DenyMatcher {
  const matcher = (path: string): string | undefined => {
    const segments = foldPath(path);
    // A denied directory denies everything below it, so check every parent too.
    for (let end = 1; end <= segments.length; end++) {
      const glob = entry(segments.slice(0, end));
      if (glob !== undefined) return glob;
    }
    return undefined;
  };
  return Object.assign(matcher, { entry, below });
}

/** A glob that starts with `/` is relative to the mount, and one with a single name matches the same at every depth. */
function needsWholePath({ text, alternative }: Rule): boolean {
  return isHostGlob(text) || (!text.startsWith("/") && alternative.length > 2);
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
