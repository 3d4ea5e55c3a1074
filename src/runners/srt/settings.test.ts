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
  test("closes the network with an empty list, because srt shares the host's network without one", () => {
    expect(network.allowedDomains).toEqual([]);
  });

  test("allows reading of programs and mounts only", () => {
    expect(names(filesystem.denyRead)).toEqual(expect.arrayContaining(["/", "/sys"]));
    expect(names(filesystem.allowRead)).toEqual(["/usr", "/run/kernel", "/srv/read", "/srv/[write]"]);
  });

  test("allows writing to the workspace and writable mounts only", () => {
    expect(names(filesystem.allowWrite)).toEqual(["/run/w1", "/srv/[write]"]);
  });

  test("denies reading and writing of a denied entry", () => {
    expect(names(filesystem.denyRead)).toContain("/srv/[write]/.env");
    expect(names(filesystem.denyWrite)).toEqual(["/srv/[write]/.env"]);
  });

  test("marks every path as literal, so that brackets in a name are not a pattern", () => {
    for (const entry of Object.values(filesystem).flat()) expect(entry.literal).toBe(true);
  });

  test("denies the directory that srt makes writable for every command", () => {
    expect(credentials.files).toContainEqual({ path: "/tmp/claude", mode: "deny" });
  });
});
