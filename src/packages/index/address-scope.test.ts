import { expect, test } from "vitest";
import { addressScope, mayReach } from "./address-scope.ts";

test.each([
  ["127.0.0.1", "local"],
  ["::1", "local"],
  ["::ffff:127.0.0.1", "local"],
  ["169.254.169.254", "local"],
  ["fe80::1%eth0", "local"],
  ["0.0.0.0", "local"],
  ["not an address", "local"],
  ["10.1.2.3", "private"],
  ["172.31.0.1", "private"],
  ["::ffff:192.168.1.1", "private"],
  ["fd00::1", "private"],
  ["64:ff9b::7f00:1", "private"],
  ["203.0.113.7", "public"],
  ["2001:db8::1", "public"],
])("the address %s is %s", (address, scope) => {
  expect(addressScope(address)).toBe(scope);
});

test("an index sends the host to addresses that are as far as its own, or farther, and never closer", () => {
  expect(mayReach("local", "public")).toBe(false);
  expect(mayReach("private", "public")).toBe(false);
  expect(mayReach("local", "private")).toBe(false);
  expect(mayReach("private", "private")).toBe(true);
  expect(mayReach("public", "local")).toBe(true);
});
