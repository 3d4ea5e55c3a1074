import type { CodeToolOptions } from "../../service/tools/code-tool.ts";

/** How the tool is offered to a model. */
export interface NamedToolOptions extends CodeToolOptions {
  /** default: run_python */
  readonly name?: string;
}
