import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { readText } from "./host-facts.ts";

/** as many as a root process needs for cells: see `privateUids` */
const fewest = 2000;
const programs = ["newuidmap", "newgidmap"];
const places = ["/usr/bin", "/usr/local/bin", "/bin"];

/** Whether this user may map uids of the host into a user namespace, so that cells need not share the user's own. */
export function hasSubordinateUids(): boolean {
  try {
    const { username, uid } = userInfo();
    const isThere = (name: string) => places.some((place) => existsSync(`${place}/${name}`));
    const lists = [readText("/etc/subuid"), readText("/etc/subgid")];
    return lists.every((list) => listsRange(list, username, uid)) && programs.every(isThere);
  } catch {
    return false; // the account has no entry
  }
}

/** Pure: whether this text of /etc/subuid or /etc/subgid has a range for a user that is large enough. */
export function listsRange(list: string, name: string, uid: number): boolean {
  return list.split("\n").some((line) => {
    const [owner, , count] = line.split(":");
    return (owner === name || owner === String(uid)) && Number(count) >= fewest;
  });
}
