/** The first of many paths in the order of their names. Never holds or sorts more than a few pages of them. */
export class FirstPaths {
  readonly #count: number;
  readonly #mostHeld: number;
  #paths: string[] = [];
  /** no later path can be among the first */
  #last: string | undefined;

  constructor(count: number) {
    this.#count = count;
    this.#mostHeld = 2 * Math.max(count, 1_000);
  }

  add(path: string): void {
    if (this.#last !== undefined && path > this.#last) return;
    this.#paths.push(path);
    if (this.#paths.length >= this.#mostHeld) this.#cut();
  }

  sorted(): readonly string[] {
    this.#cut();
    return this.#paths;
  }

  #cut(): void {
    this.#paths = this.#paths.sort().slice(0, this.#count);
    if (this.#paths.length === this.#count) this.#last = this.#paths.at(-1);
  }
}
