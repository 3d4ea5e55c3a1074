import { matchesRepeated } from "../paths/glob.ts";

/** Whether a glob matches a whole text. `*` stands for any characters, everything else for itself. */
export function starMatches(glob: string, text: string): boolean {
  return matchesRepeated([...glob], [...text], isStar, (part, character) => part === character);
}

/** Whether `wide` matches every text that `narrow` matches: only a star of `wide` can match a star of `narrow`. */
export function starCovers(wide: string, narrow: string): boolean {
  const matchesOne = (part: string, character: string) => part === character && character !== "*";
  return matchesRepeated([...wide], [...narrow], isStar, matchesOne);
}

/** The globs of both lists that the other list covers: what both permit, as far as globs can say it. */
export function commonGlobs(
  a: readonly string[],
  b: readonly string[],
  covers: (wide: string, narrow: string) => boolean,
): string[] {
  const inBoth = (own: readonly string[], other: readonly string[]) =>
    own.filter((glob) => other.some((wide) => covers(wide, glob)));
  return [...new Set([...inBoth(a, b), ...inBoth(b, a)])];
}

function isStar(part: string): boolean {
  return part === "*";
}
