import { chown, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { descriptors } from "../support/descriptors.ts";
import { type TestClient, TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** Reading it takes longer than any test: hours. */
const hugeBytes = 2 ** 43;

describe.skipIf(skipsProcess)("a client of the HTTP service that requests a sparse file and leaves", () => {
  let workspace: string;
  let service: TestService;
  let client: TestClient;
  beforeAll(async () => {
    workspace = await mkdtemp(join(tmpdir(), "codecell-sparse-"));
    if (process.getuid?.() === 0) await chown(workspace, 1000, 1000); // a cell does not get a directory of root
    const file = await open(join(workspace, "huge"), "w");
    await file.truncate(hugeBytes);
    await file.close();
    service = await TestService.open({ runners: [processRunner()], policy: { fs: { workspace } } });
    client = await service.client("alice");
    expect((await client.call("POST", "/v1/sessions", { session_id: "s" })).status).toBe(201);
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await rm(workspace, { recursive: true, force: true });
  });

  /** Waits until this process, which is the service, has the file open or has it no more. */
  async function fileIs(state: "open" | "closed"): Promise<void> {
    const isOpen = () => descriptors(process.pid).some((target) => target.endsWith("/huge"));
    while (isOpen() !== (state === "open")) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  test.each(["HEAD", "GET"])("a %s request ends the reading of the file", async (method) => {
    const leaving = new AbortController();
    const answer = client.fetch("/v1/sessions/s/files/huge", { method, signal: leaving.signal });
    await Promise.race([fileIs("open"), answer.then(({ status }) => expect(status).toBe(undefined))]);
    leaving.abort();
    await expect(answer).rejects.toThrow("aborted");
    await fileIs("closed");
    expect((await client.call("GET", "/v1/sessions/s")).status).toBe(200);
  });
});
