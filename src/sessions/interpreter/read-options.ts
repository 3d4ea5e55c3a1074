/** How long reading a value may take, and how much of it may leave the cell. */
export interface ReadOptions {
  /** at most the policy's `proc.timeout`, which is the default */
  readonly timeoutMs?: number;
  /** how much may leave the cell; default: 256 MiB, and 64 KiB for a preview */
  readonly maxBytes?: number;
  /** @internal Called for each part of the value that arrives. If it throws, the value is dropped and the read fails with its error. */
  readonly onBytes?: (bytes: number) => void;
}
