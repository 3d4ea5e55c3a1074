import { expectTypeOf, test } from "vitest";
import type { CodeSession } from "./code-session.ts";
import type { Session } from "./session.ts";

test("a session of the library is a code session", () => {
  expectTypeOf<Session>().toExtend<CodeSession>();
  // @ts-expect-error not everything with an id is one
  expectTypeOf<{ readonly id: string }>().toExtend<CodeSession>();
});
