import { expect, onTestFinished, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { silentAudit } from "../../audit/audit.ts";
import { Codecell } from "../../sessions/codecell.ts";
import { sandboxFor } from "../sandbox-for.ts";
import { callTool } from "./call-tool.ts";
import { closeSessionTool } from "./close-session.ts";
import { listArtifactsTool } from "./list-artifacts.ts";

const context = { signal: new AbortController().signal };

test("a session that cannot be closed is not answered with a step that closes the shared one", async () => {
  const codecell = await Codecell.open({ runners: [new FakeRunner()], audit: silentAudit });
  onTestFinished(() => codecell.close());
  const sandbox = sandboxFor(codecell);
  const args = { session_id: "mistyped" };
  const closing = await callTool(closeSessionTool, sandbox, { args, context });
  const next = "there is nothing to close; if you meant another session, check the id";
  expect(closing.content).toEqual([
    { type: "text", text: `session_unknown: there is no session "mistyped"\nnext: ${next}` },
  ]);
  expect(closing).toMatchObject({ isError: true, error: { code: "session_unknown", hint: next } });
  const listing = await callTool(listArtifactsTool, sandbox, { args, context });
  expect(listing).toMatchObject({ error: { hint: expect.stringMatching(/^check the id; .*shared session/) } });
});

test("no step after a failure of close_session is to leave out the id", () => {
  const steps = closeSessionTool.nextSteps ?? {};
  expect(Object.keys(steps).sort()).toEqual(["session_closed", "session_culled", "session_unknown"]);
  expect(JSON.stringify(steps)).not.toMatch(/session_id|shared/);
});
