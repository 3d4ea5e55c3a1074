import type { RunStarter } from "../../src/service/runs/run-registry.ts";
import { Run, type RunEvent, type RunProgress, type RunResult } from "../../src/sessions/runs/run.ts";
import type { RunOptions } from "../../src/sessions/runs/run-options.ts";
import { fakeResult } from "./fake-result.ts";

/** A run whose events and result the test sets. */
export class FakeRun extends Run {
  readonly code: string;
  readonly options: RunOptions;
  interrupts = 0;
  readonly #end: { resolve(result: RunResult): void; reject(error: unknown): void };

  constructor(code: string, options: RunOptions) {
    let progress: RunProgress | undefined;
    let end = { resolve(_: RunResult) {}, reject(_: unknown) {} };
    super((given) => {
      progress = given;
      return new Promise((resolve, reject) => {
        end = { resolve, reject };
      });
    });
    this.code = code;
    this.options = options;
    this.#end = end;
    progress?.accepted(() => {
      this.interrupts++;
    });
    options.signal?.addEventListener("abort", () => this.interrupt(), { once: true }); // like a session
  }

  print(text: string, type: "stdout" | "stderr" = "stdout"): void {
    this.emit({ type, text });
  }

  emit(event: RunEvent): void {
    this.log.push(event);
  }

  end(facts: Partial<RunResult> = {}): void {
    this.#end.resolve(fakeResult({ stdout: this.log.text("stdout"), stderr: this.log.text("stderr"), ...facts }));
  }

  fail(error: unknown): void {
    this.#end.reject(error);
  }
}

/** A session that starts fake runs. `last` is the newest. */
export class FakeSession implements RunStarter {
  readonly id: string;
  last: FakeRun = new FakeRun("", {});

  constructor(id = "fake") {
    this.id = id;
  }

  run(code: string, options: RunOptions): FakeRun {
    this.last = new FakeRun(code, options);
    return this.last;
  }
}
