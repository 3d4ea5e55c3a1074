import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { CodecellError } from "../../lib/errors.ts";
import type { UidRange } from "../linux/users/private-uid.ts";
import { cellUid } from "./identity-files.ts";

/** On `info`, bubblewrap says which process it has started. Then it waits on `block` until that process has its uids. */
const descriptor = { info: 5, block: 6 };
/** longer than what bubblewrap says */
const mostBytes = 10_000;

/** Entries of `stdio` for these descriptors, which follow the first five. */
export const mappingStdio = ["pipe", "pipe"] as const;

/**
 * Arguments for a jail whose process can give its children other uids, and end them. The capabilities count only in its own user
 * namespace, and so only for the uids of its map.
 */
export const mappingArguments: readonly string[] = [
  ...["--info-fd", String(descriptor.info), "--userns-block-fd", String(descriptor.block)],
  ...["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL"],
];

/** Pure: the map of that namespace. Cells have the same numbers inside and outside of it. */
export function userMap(uid: number, nobody: number, cells?: UidRange): string {
  const range = cells ? `${cells.first} ${cells.first} ${cells.count}\n` : "";
  // 0 must be mapped, or bubblewrap's /dev/pts cannot be mounted
  return `0 ${nobody} 1\n${cellUid} ${uid} 1\n${range}`;
}

/** Gives the process that this bubblewrap has started the uids and gids of `map`. Only root may. */
export async function mapUsers(child: ChildProcess, map: string): Promise<void> {
  const [info, block] = [child.stdio[descriptor.info] as Readable, child.stdio[descriptor.block] as Writable];
  block.on("error", () => {}); // its exit has the reason
  const pid = await childPid(info);
  await writeFile(`/proc/${pid}/setgroups`, "deny");
  await writeFile(`/proc/${pid}/uid_map`, map);
  await writeFile(`/proc/${pid}/gid_map`, map);
  block.end("1");
}

async function childPid(info: Readable): Promise<number> {
  let text = "";
  for await (const piece of info) {
    text += piece;
    const found = /"child-pid": (\d+)/.exec(text)?.[1];
    if (found !== undefined && text.includes("}")) return Number(found);
    if (text.length > mostBytes) break;
  }
  throw new CodecellError("cell_start_failed", "bubblewrap did not say which process it started");
}
