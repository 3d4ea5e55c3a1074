import type { CodecellError } from "../../lib/errors.ts";

/** The image to examine. */
export interface ExaminedImage {
  /** changes with the content */
  readonly id: string;
  /** name for messages */
  readonly name: string;
}

/** A command that examines an image. */
export interface ImageCommand {
  readonly command: readonly string[];
  /** host directory that the command sees at /.kernel, read-only */
  readonly kernelDirectory: string;
  readonly timeoutMs: number;
  /** output beyond this limit is not read */
  readonly maxCharacters: number;
}

/** What a command in an image printed, and how it exited. */
export interface ImageCommandResult {
  readonly stdout: string;
  /** what it printed to stderr, truncated */
  readonly diagnostics: string;
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** why it was stopped, if it did not exit on its own */
  readonly reason: CodecellError | undefined;
}

/**
 * Runs one command in an image. The image is untrusted, so the command is isolated like a cell: no network, no capabilities,
 * no host directory except the kernel's, and only a small tmpfs to write to. Each runner that uses images has its own.
 */
export type RunInImage = (command: ImageCommand) => Promise<ImageCommandResult>;
