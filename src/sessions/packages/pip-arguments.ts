import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";

/** Options that change nothing here: how much pip says, and where it would have put files. */
const withoutEffect = new Set([
  ...["-q", "-qq", "-qqq", "--quiet", "-v", "--verbose", "-U", "--upgrade", "--user", "--no-cache-dir", "--no-input"],
  ...["--disable-pip-version-check", "--break-system-packages", "--no-warn-script-location", "--only-binary=:all:"],
]);

/**
 * Pure: the requirements among the words after `pip install`. A program wrote them: an option that would choose where packages
 * come from, or how they are checked, is refused.
 */
export function pipRequirements(words: readonly string[]): string[] {
  const wanted = words.map((word) => word.trim()).filter((word) => word !== "" && !withoutEffect.has(word));
  for (const word of wanted) {
    // The attack: `name --hash=…` in one word, which would vouch for a file in the policy's place.
    if (!word.startsWith("-") && !/\s-/.test(word)) continue;
    throw new CodecellError("usage", `the option ${quotedName(word)} is not available inside a session`, {
      hint: "give names of packages only: the policy decides where they come from",
    });
  }
  if (wanted.length > 0) return wanted;
  throw new CodecellError("usage", "pip install needs the name of a package", {
    hint: "for example %pip install humanize",
  });
}
