import { CodecellError } from "./errors.ts";

/** An error whose type and message untrusted code may see. Others reach it without their message. */
export class GuestFailure extends Error {
  /** name of the exception's class */
  readonly type: string;

  constructor(type: string, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.type = type;
  }
}

const pythonNames: Readonly<Record<string, string>> = {
  Error: "HostError",
  RangeError: "ValueError",
  TypeError: "TypeError",
  not_supported: "NotImplementedError",
};

/** The name of the exception that a program sees for an error of a host function. */
export function exceptionName(error: unknown): string {
  const type = error instanceof CodecellError ? error.code : error instanceof Error ? error.name : "HostError";
  return Object.hasOwn(pythonNames, type) ? (pythonNames[type] ?? type) : type;
}
