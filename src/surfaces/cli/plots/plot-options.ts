import { CodecellError } from "../../../lib/errors.ts";
import type { OptionTable } from "../shell/arguments.ts";
import type { Terminal } from "../shell/terminal.ts";
import { type ImageProtocol, imageProtocols, protocolOfTerminal } from "./image-protocol.ts";

const choices = ["auto", ...imageProtocols, "none"] as const;

/** Options about what a program displays besides text. */
export const plotOptions = {
  plots: {
    type: "string",
    value: "DIR",
    help: "Save plots, tables and other displays in DIR. Default: pictures only, in the state directory.",
  },
  images: {
    type: "string",
    value: choices.join("|"),
    help: "How to show PNGs in the terminal. Default: auto. Also: CODECELL_IMAGES.",
  },
} as const satisfies OptionTable;

export interface PlotFlags {
  readonly plots?: string | undefined;
  readonly images?: string | undefined;
}

/** How pictures appear in this terminal. It is never asked: a terminal that does not answer would hold up the command. */
export function chosenProtocol(flags: PlotFlags, { stdout, env }: Terminal): ImageProtocol | "none" {
  const written = flags.images ?? (env.CODECELL_IMAGES || "auto");
  const choice = choices.find((one) => one === written);
  if (choice === undefined) {
    const source = flags.images === undefined ? "CODECELL_IMAGES" : "--images";
    throw new CodecellError("usage", `${source} ${JSON.stringify(written)} is not a way to show images`, {
      hint: `use one of: ${choices.join(", ")}`,
    });
  }
  if (!stdout.isTTY) return "none"; // a pipe gets the program's bytes and nothing else
  return choice === "auto" ? protocolOfTerminal(env) : choice;
}
