import type { FollowedRun, RunStarter } from "../../src/service/runs/run-registry.ts";
import type { LiveRunOptions, RunEvent, RunResult } from "../../src/sessions/runs/run.ts";
import { fakeResult } from "./fake-result.ts";

/** A run whose events and end a test decides. */
export class FakeRun implements FollowedRun {
  readonly code: string;
  readonly options: LiveRunOptions;
  readonly result: Promise<RunResult>;
  interrupts = 0;
  readonly #events: RunEvent[] = [];
  #settle: { resolve(result: RunResult): void; reject(error: unknown): void } = { resolve() {}, reject() {} };
  #wake = () => {};
  #isOver = false;

  constructor(code: string, options: LiveRunOptions) {
    this.code = code;
    this.options = options;
    this.result = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.result.catch(() => {});
    options.signal?.addEventListener("abort", () => this.interrupt(), { once: true }); // as a session does
  }

  interrupt(): void {
    this.interrupts++;
  }

  print(text: string, type: "stdout" | "stderr" = "stdout"): void {
    this.emit({ type, text });
  }

  emit(event: RunEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  end(facts: Partial<RunResult> = {}): void {
    const printed = (type: string) =>
      this.#events.map((event) => ("text" in event && event.type === type ? event.text : ""));
    this.#settle.resolve(
      fakeResult({ stdout: printed("stdout").join(""), stderr: printed("stderr").join(""), ...facts }),
    );
    this.#isOver = true;
    this.#wake();
  }

  fail(error: unknown): void {
    this.#settle.reject(error);
    this.#isOver = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    for (let at = 0; ; ) {
      const event = this.#events[at];
      if (event) {
        at++;
        yield event;
      } else if (this.#isOver) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/** A session that starts fake runs; the newest is `last`. */
export class FakeSession implements RunStarter {
  readonly id: string;
  last: FakeRun = new FakeRun("", {});

  constructor(id = "fake") {
    this.id = id;
  }

  run(code: string, options: LiveRunOptions): FakeRun {
    this.last = new FakeRun(code, options);
    return this.last;
  }
}
