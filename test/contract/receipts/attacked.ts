import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { RuleName } from "../../../src/policy/rules.ts";
import type { Policy, PolicyInput } from "../../../src/policy/schema.ts";
import type { EnforcedBy, EnforcedRule } from "../../../src/runners/receipt.ts";
import type { SandboxRunner } from "../../../src/runners/runner.ts";
import type { Codecell } from "../../../src/sessions/codecell.ts";
import type { CodecellOptions } from "../../../src/sessions/codecell-options.ts";
import type { RunResult } from "../../../src/sessions/runs/run.ts";
import type { Session } from "../../../src/sessions/session.ts";
import type { Place } from "./place.ts";

/** What an attack works with: the sandbox whose receipt has the row, and what is there to be had. */
export interface Attacked {
  readonly codecell: Codecell;
  readonly stateDir: string;
  readonly place: Place;
  readonly policy: Policy;
  readonly row: EnforcedRule;
  readonly make: () => SandboxRunner;
  /** what the policy was made of, and with what `Codecell.open` was called */
  readonly input: PolicyInput;
  readonly options: Partial<CodecellOptions>;
  /** a session that earlier attacks of this sandbox used; it is alive and has no variables */
  session(): Promise<Session>;
  /** a session in a cell of its own, for attacks that use something up or end the cell */
  fresh(): Promise<Session>;
  /** a second sandbox of the same kind */
  another(input: PolicyInput, stateDir?: string): Promise<Codecell>;
}

export type Attack = (attacked: Attacked) => Promise<void>;

/** Who enforces a rule and by what, as a receipt says it, and the attack that shows whether it is true. */
export interface Claim {
  readonly by: EnforcedBy;
  /** the whole wording, with the names of its variable parts in braces */
  readonly wording: string;
  /** matches a row's `how` as a whole */
  readonly how: RegExp;
  readonly attack: Attack;
}

export type ClaimTable = Readonly<Record<RuleName, readonly Claim[]>>;

/** The parts of a wording that depend on the machine or on the policy. Everything else is matched word by word. */
const variableParts = {
  version: /\d[\w.+~-]*/,
  engine: /Docker|Podman/,
  runtime: /\S+/,
  image: /\S+/,
  layout: /template|direct/,
  cell: /cell|container/,
  group: /v[12]/,
  count: /\d+/,
  size: /\d+(?:KiB|MiB|GiB)/,
} as const;

export function claim(by: EnforcedBy, wording: string, attack: Attack): Claim {
  const how = escaped(wording).replace(/\\\{(\w+)\\\}/g, (_, name: string) => {
    const part = variableParts[name as keyof typeof variableParts];
    if (part === undefined) throw new Error(`{${name}} is not a known part of a wording`);
    return `(?:${part.source})`;
  });
  return { by, wording, how: new RegExp(`^${how}$`), attack };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Runs code that has to get through; what its last line printed, from JSON. */
export async function printed<T = unknown>(session: Session, code: string): Promise<T> {
  const result = await session.run(`import json, os, sys\n${code}`);
  if (result.status !== "ok")
    throw new Error(`${result.status}: ${result.error?.traceback ?? result.notes.join("; ")}`);
  return JSON.parse(result.stdout.trimEnd().split("\n").at(-1) ?? "");
}

export function pythonText(text: string): string {
  return JSON.stringify(text);
}

/** Python that opens a path for reading and says what it got, or the kind of failure. */
export function reading(...paths: string[]): string {
  return `
def attempt(path):
    try:
        with open(path) as file: return file.read()
    except (OSError, RuntimeError) as error: return type(error).__name__
print(json.dumps([attempt(path) for path in ${JSON.stringify(paths)}]))`;
}

export async function expectCode(promise: Promise<unknown>, code: string, rule?: string): Promise<void> {
  await expect(promise).rejects.toMatchObject({
    code,
    ...(rule === undefined ? {} : { message: expect.stringContaining(rule) }),
  });
}

/** Every file below a directory, with its path from there. */
export async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Files below a directory that contain a text. */
export async function filesWith(root: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of await filesBelow(root)) if ((await readFile(path)).includes(text)) found.push(path);
  return found;
}

/** A run that is expected to end otherwise than well. */
export async function failing(session: Session, code: string): Promise<RunResult> {
  const result = await session.run(code);
  expect(result.status).not.toBe("ok");
  return result;
}
