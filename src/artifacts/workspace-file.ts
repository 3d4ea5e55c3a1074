/** A regular file of a workspace. */
export interface FileFacts {
  readonly path: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** Which files are listed, and how many at a time. */
export interface ListOptions {
  /** only paths that start with this text */
  readonly prefix?: string;
  /** only paths after this one: the `next` of the previous page */
  readonly after?: string;
  /** paths per page; default 1000, at most 10 000 */
  readonly limit?: number;
}

/** One page of a listing. */
export interface FileList {
  /** sorted by path */
  readonly files: readonly FileFacts[];
  /** start of the next page; absent: this is the last one */
  readonly next?: string;
  /** number of entries left out: links, special files, invalid names, denied files */
  readonly leftOut: number;
  /** a limit on entries or depth was reached, so files may be missing */
  readonly truncated: boolean;
}

/** Part of a file in bytes: from `start` up to but not including `end`; bytes past the end of the file are ignored. */
export interface ByteRange {
  readonly start?: number;
  readonly end?: number;
}

/** An open file that is read in chunks. Reading to the end, or leaving the loop, closes it. */
export interface FileStream extends AsyncDisposable {
  /** of the whole file, in bytes */
  readonly size: number;
  readonly modifiedMs: number;
  readonly data: AsyncIterable<Uint8Array>;
}

/** The content of a file: whole, or in chunks. */
export type FileSource = Uint8Array | AsyncIterable<Uint8Array>;
