/** Events for any number of readers, each from the first one on. */
export class EventLog<Event> implements AsyncIterable<Event> {
  readonly #events: Event[] = [];
  readonly #waiting = new Set<() => void>();
  #hasEnded = false;

  push(event: Event): void {
    this.#events.push(event);
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, void> {
    for (let next = 0; ; ) {
      const event = this.#events[next];
      if (event !== undefined) {
        next++;
        yield event;
      } else if (this.#hasEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
