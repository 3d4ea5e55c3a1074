import { describe, expect, test } from "vitest";
import { CodecellError } from "../../../lib/errors.ts";
import { EngineRefusal } from "../engine/engine-client.ts";
import { exitReason } from "./container-exit.ts";
import { startFailure } from "./start-failure.ts";

describe("startFailure", () => {
  test("keeps an error that already has a code", () => {
    const error = new CodecellError("runner_unavailable", "Docker cannot be reached");
    expect(startFailure(error, "Docker")).toBe(error);
  });

  test("says whose disk is full", () => {
    const refusal = new EngineRefusal(500, "mkdir /var/lib/docker/overlay2/x: no space left on device");
    expect(startFailure(refusal, "Docker")).toMatchObject({
      code: "cell_start_failed",
      message: expect.stringContaining("no space is left where Docker stores containers"),
    });
    const own = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    expect(startFailure(own, "Docker").message).toContain("no space is left where codecell stores files");
  });

  test.each([
    [new EngineRefusal(404, "No such image: x:latest"), "codecell image build"],
    [new EngineRefusal(400, 'exec: "python3": executable file not found in $PATH'), "an image with Python 3.9"],
    [new EngineRefusal(500, "database is locked"), "the engine's own log"],
  ])("has a hint for each refusal of the engine: %s", (refusal, hint) => {
    expect(startFailure(refusal, "Docker").hint).toContain(hint);
  });

  test.each([
    'invalid mount config for type "bind": bind source path does not exist: /run/codecell/kernel-1',
    "make cli opts(): statfs /run/codecell/kernel-1: no such file or directory",
  ])("blames the engine if it does not see codecell's files: %s", (text) => {
    const { hint, details } = startFailure(new EngineRefusal(400, text), "Docker");
    expect(hint).toContain("does not see this machine's files");
    expect(details.isRefusal).toBe(true);
  });

  test("a full disk of Podman is cleaned with podman, not docker", () => {
    const refusal = new EngineRefusal(500, "write /x: no space left on device");
    expect(startFailure(refusal, "Podman").hint).toBe("free some space: `podman system prune`");
    expect(startFailure(refusal, "Docker").hint).toBe("free some space: `docker system prune`");
  });

  test("does not blame the engine if the image has no Python", () => {
    const text = 'exec: "python3": executable file not found in $PATH';
    expect(startFailure(new EngineRefusal(400, text), "Docker").details.isRefusal).toBe(false);
  });

  test("gives any other failure a code and the cause", () => {
    const refusal = new EngineRefusal(500, "database is locked");
    expect(startFailure(refusal, "Podman")).toMatchObject({
      ...{ code: "cell_start_failed", message: "Podman refused: database is locked", cause: refusal },
    });
    expect(startFailure("odd", "Docker")).toMatchObject({ code: "cell_start_failed", cause: "odd" });
  });
});

describe("exitReason", () => {
  const address = { name: "Docker", shown: "unix:///docker.sock" };

  test.each([
    [{ code: 0 }, "cell_lost", "the container was stopped, but not by codecell"],
    [{ code: 137 }, "cell_lost", "the container was killed"],
    [{ code: 6 }, "cell_lost", "exited with code 6"],
    [{ error: new EngineRefusal(404, "No such container") }, "cell_lost", "the container no longer exists"],
    [{ error: new CodecellError("runner_unavailable", "Docker cannot be reached") }, "runner_unavailable", "reached"],
    [undefined, "runner_unavailable", "Docker did not report how the container exited"],
  ])("explains the outcome %j", (outcome, code, text) => {
    expect(exitReason(address, outcome)).toMatchObject({ code, message: expect.stringContaining(text) });
  });
});
