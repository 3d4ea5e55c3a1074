import { describe, expect, test } from "vitest";
import { type CellPaths, srtSettings } from "./settings.ts";

const paths: CellPaths = {
  programs: ["/usr", "/run/kernel"],
  workspace: "/run/w1",
  mounts: [
    { path: "/srv/read", readOnly: true },
    { path: "/srv/[write]", readOnly: false },
  ],
  denied: ["/srv/[write]/.env"],
};
const { network, filesystem, credentials } = srtSettings(paths);
const names = (entries: readonly { path: string }[]) => entries.map(({ path }) => path);

describe("srtSettings", () => {
  test("closes the network with an empty list: without the list srt would share the host's", () => {
    expect(network.allowedDomains).toEqual([]);
  });

  test("closes everything to reading, and opens programs and mounts", () => {
    expect(names(filesystem.denyRead)).toEqual(expect.arrayContaining(["/", "/sys"]));
    expect(names(filesystem.allowRead)).toEqual(["/usr", "/run/kernel", "/srv/read", "/srv/[write]"]);
  });

  test("opens nothing to writing but the workspace and what the policy says", () => {
    expect(names(filesystem.allowWrite)).toEqual(["/run/w1", "/srv/[write]"]);
  });

  test("denies an entry to reading and to writing", () => {
    expect(names(filesystem.denyRead)).toContain("/srv/[write]/.env");
    expect(names(filesystem.denyWrite)).toEqual(["/srv/[write]/.env"]);
  });

  test("has every path taken as it is: brackets in a name are no pattern", () => {
    for (const entry of Object.values(filesystem).flat()) expect(entry.literal).toBe(true);
  });

  test("hides the directory that srt opens to all commands by the one rule that outranks it", () => {
    expect(credentials.files).toContainEqual({ path: "/tmp/claude", mode: "deny" });
  });
});
