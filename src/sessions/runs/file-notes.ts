import type { LeftOut } from "../../artifacts/artifact.ts";
import type { DoneMessage } from "../../kernel/messages.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { isObeyedByHost } from "../../policy/paths/deny.ts";

const maxNamed = 5;

interface FoundFiles {
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount?: number;
}

/** Pure: what a run did to files that its lists do not show, or that a reader must not miss among them. */
export function fileNotes({ filesComplete }: DoneMessage, { leftOut, leftOutCount }: FoundFiles): string[] {
  if (leftOut.length === 0 && leftOutCount === undefined && filesComplete !== false) return []; // as after most runs
  const planted = leftOut.filter(({ name, reason }) => reason === "refused" && isObeyedByHost(name));
  const unlisted = (leftOutCount ?? leftOut.length) - leftOut.length;
  return [
    ...(planted.length > 0 ? [plantedNote(planted)] : []),
    ...(unlisted > 0 ? [`${unlisted} more changed files are not artifacts and are not listed`] : []),
    ...(filesComplete === false ? ["more files changed than a run can list: look through the workspace"] : []),
  ];
}

/** The attack: a program writes a git hook, which runs on the host at the next commit. */
function plantedNote(planted: readonly LeftOut[]): string {
  const names = planted.slice(0, maxNamed).map(({ name }) => quotedName(name));
  const more = planted.length - names.length;
  const list = `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return `the run wrote files that tools on the host run or obey; check them before you use them: ${list}`;
}
