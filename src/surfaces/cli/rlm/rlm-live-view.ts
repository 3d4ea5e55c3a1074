import { type RlmEvent, usdText } from "../../../service/rlm/rlm-runs.ts";
import { plural } from "../format/text/plural.ts";
import { safeText } from "../format/text/safe-text.ts";
import type { Style } from "../format/text/style.ts";

/** What a run has used so far, and its caps. */
interface Meter {
  calls: number;
  tokens: number;
  usd: number;
}

export interface LiveViewOptions {
  readonly style: Style;
  /** null: no cap */
  readonly maxUsd: number | null;
  /** width of the terminal in characters */
  readonly width: number;
}

/** A line for each turn, sub-agent and ending, as they happen, with the spend against the budget. */
export class RlmLiveView {
  readonly #write: (line: string) => void;
  readonly #options: LiveViewOptions;
  readonly #used: Meter = { calls: 0, tokens: 0, usd: 0 };
  #root: string | undefined;
  #pendingCalls = 0;

  constructor(write: (line: string) => void, options: LiveViewOptions) {
    this.#write = write;
    this.#options = options;
  }

  show(event: RlmEvent): void {
    const { style } = this.#options;
    const indent = "  ".repeat(Math.max(0, depthOf(event.run)));
    const line = (text: string) =>
      this.#write(`${indent}${safeText(text).slice(0, this.#options.width - indent.length)}`);
    switch (event.type) {
      case "run_start":
        this.#root ??= event.run;
        line(`${style.bold(event.parent === null ? "run" : "sub-agent")} ${event.signature}`);
        return;
      case "turn_start":
        line(`turn ${event.turn}/${event.of}  ${style.dim(this.#spend())}`);
        return;
      case "lm_response":
        this.#used.calls++;
        this.#used.usd += event.usd ?? 0;
        this.#used.tokens += event.usage ? event.usage.inputTokens + event.usage.outputTokens : 0;
        if (event.status === "failed") line(`${style.red("model call failed")}: ${event.text}`);
        return;
      case "lm_request":
        if (event.purpose === "sub") this.#pendingCalls++;
        return;
      case "exec_result": {
        const sub = this.#pendingCalls === 0 ? "" : `, ${plural(this.#pendingCalls, "sub-call")}`;
        this.#pendingCalls = 0;
        const first = event.output.trim().split("\n").at(-1) ?? "";
        line(
          `  ${event.status === "ok" ? style.green("ok") : style.red(event.status)}${sub}${first === "" ? "" : `  ${style.dim(first)}`}`,
        );
        return;
      }
      case "budget":
        line(style.yellow(`${event.percent} % of the ${event.kind} budget is used`));
        return;
      case "submit":
        if (!event.valid) line(style.yellow("SUBMIT was refused"));
        return;
      case "finish":
        line(
          `${event.finish === "submitted" ? style.green(event.finish) : style.yellow(event.finish)}  ${this.#spend()}`,
        );
        return;
      default:
        return;
    }
  }

  #spend(): string {
    const { calls, tokens, usd } = this.#used;
    const { maxUsd } = this.#options;
    const of = maxUsd === null ? "" : ` of ${usdText(maxUsd)}`;
    return `${plural(calls, "call")}, ${tokens.toLocaleString("en-US")} tokens, ${usdText(usd)}${of}`;
  }
}

/** `rlm-1a2b.3.1` is two levels below the root. */
function depthOf(run: string): number {
  return run.split(".").length - 1;
}
