/** The flags that a holder of warm cells opens its policy with. */
export interface HolderFlags {
  readonly policy?: string | undefined;
  readonly runner?: string | undefined;
  readonly timeout?: string | undefined;
  readonly memory?: string | undefined;
  readonly "output-limit"?: string | undefined;
  readonly "state-dir"?: string | undefined;
}

/** What a new holder is told on its stdin. */
export interface HolderSettings {
  readonly key: string;
  readonly cwd: string;
  readonly flags: HolderFlags;
  /** exits after this time without a call; default: 5m */
  readonly idle?: string | undefined;
}

/** What a holder says about itself. */
export interface HolderFacts {
  readonly pid: number;
  readonly version: string;
  readonly runner: string;
  /** cells that wait for a program */
  readonly ready: number;
  /** programs that are running */
  readonly running: number;
  /** programs that it has run */
  readonly runs: number;
  readonly uptime_seconds: number;
  readonly idle_seconds: number;
}
