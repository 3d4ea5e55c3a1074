import { expect, test } from "vitest";
import { flagsToOverride, parseMount } from "./policy-flags.ts";

test("a --mount is read-only unless it ends with :rw", () => {
  expect(parseMount("data:/data", "/home/ann/p")).toEqual({ source: "/home/ann/p/data", target: "/data", mode: "ro" });
  expect(parseMount("/a:b:/data:rw", "/")).toEqual({ source: "/a:b", target: "/data", mode: "rw" });
});

test.each(["data", "data:relative", ":/data", "data:/data:wx"])("--mount rejects the value %s", (text) => {
  expect(() => parseMount(text, "/")).toThrow(expect.objectContaining({ code: "usage" }));
});

test("policy flags become rules, with paths relative to the current directory", () => {
  const flags = { runner: "wasm", timeout: "10s", memory: "1GiB", "output-limit": "2MiB", workspace: "w" };
  expect(flagsToOverride(flags, "/p").override).toEqual({
    isolation: { runner: "wasm" },
    proc: { timeout: "10s", memory: "1GiB", output: "2MiB" },
    fs: { workspace: "/p/w" },
  });
  expect(flagsToOverride({}, "/p").override).toEqual({});
});

test.each([
  [{ timeout: "10" }, "did you mean 10s?"],
  [{ memory: "512" }, "did you mean 512MiB?"],
  [{ memory: "2gb" }, "did you mean 2GB?"],
  [{ "output-limit": "64" }, "did you mean 64MiB?"],
  [{ runner: "wsam" }, "did you mean wasm?"],
  [{ runner: "firecracker" }, "use one of: auto, wasm, srt, process, container, kata, gvisor, kubernetes"],
])("the policy flags %j are rejected with a suggestion", (flags, hint) => {
  expect(() => flagsToOverride(flags, "/")).toThrow(expect.objectContaining({ code: "usage", hint }));
});
