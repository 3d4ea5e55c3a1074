import { expect, test } from "vitest";
import { parseMountinfo } from "./mountinfo.ts";

test("parseMountinfo reads lines with any number of optional fields and with escaped names", () => {
  const text = [
    "25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard",
    "42 25 0:40 /part /srv/a\\040b\\134c rw,relatime - tmpfs none rw,size=4k",
    "",
  ].join("\n");
  expect(parseMountinfo(text)).toEqual([
    { id: "25", device: "254:0", root: "/", point: "/", type: "ext4", superOptions: ["rw", "discard"] },
    { id: "42", device: "0:40", root: "/part", point: "/srv/a b\\c", type: "tmpfs", superOptions: ["rw", "size=4k"] },
  ]);
});
