import { expect, test } from "vitest";
import { fakeResult } from "../../../../test/fakes/fake-result.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { networkHint } from "./network-hint.ts";

const failed = (name: string, message: string) =>
  fakeResult({ status: "error", error: { name, message, traceback: "" } });
const lookup = failed("urllib.error.URLError", "<urlopen error [Errno -2] Name or service not known>");

test("a program that reached nothing for want of a network is told how to get one", () => {
  expect(networkHint(lookup, parsePolicy({}))).toContain("set net.enabled and net.allowlist in the policy");
  const allowed = parsePolicy({ net: { allowlist: ["packages.example"] } });
  expect(networkHint(lookup, allowed)).toContain("no network: set net.enabled: true in the policy");
});

test("a program that failed for another reason, or that has a network, gets no hint about it", () => {
  expect(networkHint(failed("ValueError", "bad"), parsePolicy({}))).toBeUndefined();
  const open = parsePolicy({ net: { enabled: true, allowlist: ["packages.example"] } });
  expect(networkHint(lookup, open)).toBeUndefined();
});
