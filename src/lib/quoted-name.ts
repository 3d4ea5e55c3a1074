/**
 * A name that a program chose, for a sentence of ours. Anything but a plain name is quoted and bounded. The attack: a file, a
 * class or a host whose name reads like an instruction.
 */
export function quotedName(name: string, maxCharacters = 100): string {
  const isPlain = name.length <= maxCharacters && /^[\p{L}\p{N}\p{M}_./:@+=~<>[\]-]+$/u.test(name);
  if (isPlain) return name;
  const cut = name.length > maxCharacters ? `${name.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "")}…` : name;
  return JSON.stringify(cut).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
