import { expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import { guestError } from "./guest-error.ts";

const secret = "/srv/state/sessions/ns-0123456789ab.work";

test.each([
  new Error(`ENOENT: no such file or directory, open '${secret}'`),
  Object.assign(new Error(`ENOSPC: no space left on device, open '${secret}'`), {
    code: "ENOSPC",
    syscall: "open",
    path: secret,
  }),
  new CodecellError("internal", `${secret} is damaged`),
  new CodecellError("audit_failed", `the audit in ${secret} cannot be written`, { cause: new Error(secret) }),
  new CodecellError("cell_start_failed", `no cell started: ${secret}`, { cause: new Error(secret) }),
  new CodecellError("runner_unavailable", `the engine says: ${secret} is full`, { hint: `look at ${secret}` }),
  new CodecellError("image_failed", `${secret}/Dockerfile:3`, { details: { log: secret } }),
  new CodecellError("secret_unavailable", `net.secrets.TOKEN: ${secret} cannot be read (ENOENT)`),
  new CodecellError("policy_refused", `fs.mounts[0]: ${secret} does not exist`, { hint: `${secret} is a link` }),
])("an error for a guest contains no host path: %s", (error) => {
  const { message, hint, cause, details } = guestError(error);
  expect(JSON.stringify([message, hint, details, String(cause)])).not.toContain("/srv");
});

test("an error for a guest names a session without its namespace", () => {
  const error = new CodecellError("checkpoint_unknown", 'session ns-0123456789ab.work has no checkpoint named "x"');
  expect(guestError(error).message).toBe('session work has no checkpoint named "x"');
});

test("a full disk is reported to guests as disk_failed, not as a bug", () => {
  const full = Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write", path: secret });
  expect(guestError(full)).toMatchObject({
    code: "disk_failed",
    message: "this service cannot write to its disk at the moment",
  });
});

test("an error about the guest's own call is passed on unchanged", () => {
  const error = new CodecellError("session_busy", "another run is still running", {
    hint: "wait",
    details: { run: 1 },
  });
  expect(guestError(error)).toMatchObject({
    code: "session_busy",
    message: "another run is still running",
    hint: "wait",
  });
  expect(guestError(error).details).toEqual({ run: 1 });
});
