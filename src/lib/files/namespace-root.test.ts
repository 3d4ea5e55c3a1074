import { expect, test } from "vitest";
import { hostUserOf, namespaceRoot } from "./namespace-root.ts";

test("root of a user namespace is the user whom the map names, and the machine's root is nobody else", () => {
  expect(hostUserOf("         0       1001          1\n         1     100000      65535\n")).toBe(1001);
  expect(hostUserOf("         0          0 4294967295\n")).toBeUndefined();
  expect(hostUserOf("      1000       1000          1\n")).toBeUndefined();
  expect(hostUserOf("")).toBeUndefined();
});

test("who is not root, or owns the machine's directories, is taken for what he is", () => {
  expect(namespaceRoot(1000)).toBeUndefined();
  // as in a rootless container
  if (process.getuid?.() === 0) expect(namespaceRoot(0, "/proc/self", "/proc/self")).toBeUndefined();
  expect(namespaceRoot(0, "/proc/self", "/no/such/directory")).toBeUndefined();
});
