import { expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import { guestError } from "./guest-error.ts";

const secret = "/srv/state/sessions/ns-0123456789ab.work";

test.each([
  new Error(`ENOENT: no such file or directory, open '${secret}'`),
  new CodecellError("internal", `${secret} is damaged`),
  new CodecellError("audit_failed", `the audit in ${secret} cannot be written`, { cause: new Error(secret) }),
  new CodecellError("cell_start_failed", "no cell started", { cause: new Error(secret) }),
])("names no file of the host to a tenant: %s", (error) => {
  const { message, hint, cause } = guestError(error);
  expect(JSON.stringify([message, hint, String(cause)])).not.toContain("/srv");
});

test("leaves what was meant for whoever asked", () => {
  const error = new CodecellError("session_busy", "a run goes on", { hint: "wait", details: { run: 1 } });
  expect(guestError(error)).toMatchObject({ code: "session_busy", message: "a run goes on", hint: "wait" });
  expect(guestError(error).details).toEqual({ run: 1 });
});
