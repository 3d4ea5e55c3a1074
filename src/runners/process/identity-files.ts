import { internetNames } from "../linux/internet-names.ts";

/**
 * A cell's own /etc: one user, one host name and no other name service. Without nsswitch.conf, the C library asks a name
 * server first, and `localhost` does not resolve without one.
 */
export const identityFiles = {
  passwd: "root:x:0:0:root:/:/usr/sbin/nologin\ncell:x:1000:1000:cell:/workspace:/bin/sh\n",
  group: "root:x:0:\ncell:x:1000:\n",
  hosts: "127.0.0.1 localhost cell\n::1 localhost\n",
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
  ...internetNames,
} as const;

export const cellUid = 1000;
export const cellHostname = "cell";
