import { expect, test } from "vitest";
import { parseMountinfo } from "../../lib/files/mountinfo.ts";
import { otherPaths } from "./other-paths.ts";

const table = parseMountinfo(
  [
    "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
    "2 1 8:2 / /home rw - ext4 /dev/sda2 rw",
    "3 1 8:2 /me/.aws /srv/project/data rw - ext4 /dev/sda2 rw",
    "4 1 8:1 /srv /mnt/copy rw - ext4 /dev/sda1 rw",
  ].join("\n"),
);

test("a bind mount has the path of the directory that it shows, and the other way round", () => {
  expect(otherPaths("/srv/project/data/credentials", "3", table)).toEqual(["/home/me/.aws/credentials"]);
  expect(otherPaths("/srv/project/data", "3", table)).toEqual(["/home/me/.aws"]);
  expect(otherPaths("/home/me/.aws", "2", table)).toEqual(["/srv/project/data"]);
  expect(otherPaths("/mnt/copy/x", "4", table)).toEqual(["/srv/x"]);
});

test("a file that is mounted once has no other path, nor has one whose mount is not known", () => {
  expect(otherPaths("/home/me/project", "2", table)).toEqual([]);
  expect(otherPaths("/srv/project/data", undefined, table)).toEqual([]);
  expect(otherPaths("/srv/project/data", "9", table)).toEqual([]);
  expect(otherPaths("/elsewhere", "3", table)).toEqual([]);
});
