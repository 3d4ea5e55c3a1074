import { expect, test } from "vitest";
import { importPeer } from "./import-peer.ts";

test("a package beside this one is loaded, and a missing one is an error", async () => {
  expect(await importPeer<{ parse(text: string): unknown }>("yaml")).toHaveProperty("parse");
  await expect(importPeer("codecell-has-no-such-peer")).rejects.toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
});
