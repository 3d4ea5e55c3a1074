import type { TierName } from "../support/tiers.ts";

export type Verdict = string | number | boolean | null | readonly Verdict[];

/** A tier's different verdict, and why it is not a hole. */
export interface Exception {
  readonly verdict: Verdict;
  readonly because: string;
}

export type Exceptions = Partial<Record<TierName, Exception>>;

/** A small program that asks what a program may expect of a cell. */
export interface Probe {
  /** what a program may expect */
  readonly name: string;
  /** Python after the prelude. The answer is `verdict` at its end, or else how the run ended. */
  readonly code: string;
  readonly expect: Verdict;
  readonly except?: Exceptions;
  readonly language?: "python" | "bash";
}

/** A probe whose code is one expression. */
export function asks(name: string, expression: string, expect: Verdict, except?: Exceptions): Probe {
  return { name, code: `verdict = ${expression}`, expect, ...(except ? { except } : {}) };
}

/** Runs before each probe. */
export const prelude = `
import json, os, socket, sys
def attempt(action):
    try: action()
    except BaseException: return "refused"
    return "done"
def text_of(path):
    try:
        with open(path) as file: return file.read()
    except OSError: return ""
def writes(directory):
    path = directory + "/written"
    def write():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.remove(path)
    return attempt(write)
`;
