/** A frozen copy of the interpreter, for `rollback`. */
export interface Checkpoint {
  readonly name: string;
  /** the last run before it */
  readonly run: number;
  readonly atMs: number;
}
