import { jsonText } from "../format/text/json-text.ts";
import type { Terminal } from "../shell/terminal.ts";

/** One step that a setup did, or would do. */
export type SetupStep =
  | { readonly step: "ran"; readonly command: string; readonly output: string }
  | { readonly step: "would run"; readonly command: string }
  /** Claude Code is not installed: the user has to run the command later */
  | { readonly step: "not installed"; readonly command: string }
  | {
      readonly step: "wrote" | "would write";
      readonly file: string;
      readonly content: string;
      readonly advice?: string;
    }
  | { readonly step: "removed" | "would remove"; readonly file: string; readonly advice?: string }
  | { readonly step: "unchanged"; readonly why: string };

/** Prints each step of a setup as it happens or, as JSON, all steps at the end. */
export class SetupReport {
  readonly #stdout: Terminal["stdout"];
  readonly #steps: SetupStep[] = [];
  readonly #isJson: boolean;

  constructor({ stdout }: Terminal, isJson: boolean) {
    this.#stdout = stdout;
    this.#isJson = isJson;
  }

  tell(step: SetupStep): void {
    if (this.#isJson) this.#steps.push(step);
    else this.#stdout.write(textOf(step));
  }

  /** Call it last, with the exit code. */
  end(code: number): number {
    if (this.#isJson) this.#stdout.write(jsonText({ ok: code === 0, steps: this.#steps }));
    return code;
  }
}

function textOf(step: SetupStep): string {
  switch (step.step) {
    case "ran":
      return `ran: ${step.command}\n${step.output}`;
    case "would run":
      return `would run: ${step.command}\n`;
    case "not installed":
      return `Claude Code is not installed; install it, then run:\n${step.command}\n`;
    case "wrote":
    case "would write":
      return `${step.step} ${step.file}:\n${step.content}${step.advice === undefined ? "" : `${step.advice}\n`}`;
    case "removed":
    case "would remove":
      return `${step.step} ${step.file}${step.advice === undefined ? "" : `; ${step.advice}`}\n`;
    case "unchanged":
      return `nothing to do: ${step.why}\n`;
  }
}
