import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { readSecrets } from "./secret-values.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "secrets-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const secret = (from: string) => ({
  ...{ from, hosts: ["api.example.com", "api.example.com:8443"], headers: ["authorization"] },
  ...{ query: false, plaintext: false },
});
const from = (source: string, environment = {}) => readSecrets({ TOKEN: secret(source) }, environment);

async function refusal(reading: Promise<unknown>): Promise<CodecellError> {
  const error = await reading.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof CodecellError) return error;
  throw new Error("it was not refused");
}

test("a secret's value comes from the environment or from a file, without the trailing newline", async () => {
  writeFileSync(join(root, "token"), "hunter2-hunter2\n");
  symlinkSync("token", join(root, "link"));
  for (const reading of [
    from("env:X", { X: "hunter2-hunter2" }),
    from(`file:${root}/token`),
    from(`file:${root}/link`),
  ])
    expect(await reading).toMatchObject([{ name: "TOKEN", value: "hunter2-hunter2", hosts: ["api.example.com"] }]);
});

test("a secret's placeholder differs for each session and is valid in headers and URLs", async () => {
  const [first, second] = await Promise.all([
    from("env:X", { X: "hunter2-hunter2" }),
    from("env:X", { X: "hunter2-hunter2" }),
  ]);
  expect(first[0]?.placeholder).toMatch(/^cc_secret_[0-9a-f]{32}$/);
  expect(first[0]?.placeholder).not.toBe(second[0]?.placeholder);
});

test.each([
  ["is not set", {}],
  ["is empty", { X: "" }],
  ["ends a header field and begins another", { X: "hunter2\r\nX-Evil: 1" }],
  ["has a line feed", { X: "hunter2\nhunter2" }],
  ["has a NUL", { X: "hunter2\0hunter2" }],
  ["has a letter that no header carries", { X: "hünter2-hunter2" }],
  ["begins with a space", { X: " hunter2-hunter2" }],
  ["is too short to be told from other text", { X: "hunter2" }],
  ["is too long", { X: "hunter2".repeat(1000) }],
])(
  "a session is refused if a secret's value %s, and the error names the secret but not the value",
  async (_, environment) => {
    const error = await refusal(from("env:X", environment));
    expect(error).toMatchObject({
      code: "secret_unavailable",
      message: expect.stringMatching(/^net\.secrets\.TOKEN: /),
    });
    expect(error.hint).toBeTruthy();
    expect(JSON.stringify([error.message, error.hint, error.details, error.stack])).not.toContain("nter2");
  },
);

test("a session is refused at once if a secret's file is missing, too large or not a regular file", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  writeFileSync(join(root, "large"), "a".repeat(10_000));
  for (const name of ["missing", "pipe", "large", "."])
    expect(await refusal(from(`file:${join(root, name)}`))).toMatchObject({ code: "secret_unavailable" });
});
