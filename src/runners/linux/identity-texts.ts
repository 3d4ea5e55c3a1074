import { internetNames } from "./internet-names.ts";

/**
 * Files in /etc that describe users, host names, name servers and the names of ports and protocols. A cell sees one user,
 * `localhost` and nothing of the host.
 */
export const identityFiles = [
  "passwd",
  "group",
  "hosts",
  "resolv.conf",
  "nsswitch.conf",
  "services",
  "protocols",
] as const;

/** Pure: what these files say in a cell whose programs have this uid and gid. */
export function identityTexts({ uid, gid }: { readonly uid: number; readonly gid: number }) {
  return {
    passwd: `root:x:0:0:root:/:/usr/sbin/nologin\ncell:x:${uid}:${gid}:cell:/workspace:/bin/sh\n`,
    group: `root:x:0:\ncell:x:${gid}:\n`,
    hosts: "127.0.0.1 localhost cell\n::1 localhost\n",
    // empty, because Podman would write the host's name servers here and its host names into /etc/hosts
    "resolv.conf": "",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    // small images such as Debian's have neither
    ...internetNames,
  } satisfies Record<(typeof identityFiles)[number], string>;
}
