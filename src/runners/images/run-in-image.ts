import type { CodecellError } from "../../lib/errors.ts";

/** An image as its runner found it. */
export interface ExaminedImage {
  /** changes with the content */
  readonly id: string;
  /** as people name it */
  readonly name: string;
}

/** A command that examines an image. */
export interface ImageCommand {
  readonly command: readonly string[];
  /** host directory that the command sees at /.kernel, read-only */
  readonly kernelDirectory: string;
  readonly timeoutMs: number;
  /** what is printed beyond this is not read */
  readonly maxCharacters: number;
}

/** What a command in an image printed, and how it ended. */
export interface ImageCommandResult {
  readonly stdout: string;
  /** what it printed to stderr, truncated */
  readonly diagnostics: string;
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  /** why it ended, where that was not its own doing */
  readonly reason: CodecellError | undefined;
}

/**
 * Runs one command in an image: no network, no capability, nothing of the host but the kernel's directory, and nothing to
 * write to but a little memory. Nobody trusts the image, so this is held like a cell. Each runner of images has its own.
 */
export type RunInImage = (command: ImageCommand) => Promise<ImageCommandResult>;
