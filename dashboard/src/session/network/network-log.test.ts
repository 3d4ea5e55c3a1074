import { expect, test } from "vitest";
import type { WireNetworkEntry } from "../../../../src/service/wire/network.ts";
import { shownEntries } from "./network-log.ts";

const entry = (host: string, verdict: "allowed" | "denied", run = 1): WireNetworkEntry => ({
  ...{ at: "2026-11-17T16:00:00.000Z", run, host, port: 443, verdict, rule: "net.allowlist" },
  ...{ address: null, reason: null, sent_bytes: null, received_bytes: null },
});

test("the log shows the newest first, and what the filters let through", () => {
  const log = [entry("a.example", "allowed"), entry("b.example", "denied", 2), entry("c.example", "denied", 3)];
  const hosts = (search: string, verdict: "" | "allowed" | "denied" = "") =>
    shownEntries(log, { search, verdict }).map(({ host }) => host[0]);
  expect(hosts("")).toEqual(["c", "b", "a"]);
  expect(hosts("", "denied")).toEqual(["c", "b"]);
  expect(hosts("B.EX")).toEqual(["b"]);
  expect(hosts("run 3")).toEqual(["c"]);
});
