import type { Terminal } from "../shell/terminal.ts";

/** The protocols by which terminals show pictures. */
export const imageProtocols = ["kitty", "iterm2", "sixel"] as const;
export type ImageProtocol = (typeof imageProtocols)[number];

const byTerm: readonly (readonly [RegExp, ImageProtocol])[] = [
  [/^xterm-(?:kitty|ghostty)$/, "kitty"],
  [/^(?:foot|mlterm|contour|yaft)(?:-|$)/, "sixel"],
];

const byProgram: Readonly<Record<string, ImageProtocol>> = {
  ghostty: "kitty",
  "iTerm.app": "iterm2",
  WezTerm: "iterm2",
  mintty: "iterm2",
};

/** The protocol of a terminal, by the environment that it sets. A terminal that is not known to have one gets no pictures. */
export function protocolOfTerminal(env: Terminal["env"]): ImageProtocol | "none" {
  const { TERM = "", TERM_PROGRAM = "" } = env;
  // tmux and screen inherit the variables of the terminal around them, but drop its pictures.
  if (env.TMUX || env.STY || /^(?:tmux|screen|dumb)/.test(TERM)) return "none";
  const known = byTerm.find(([pattern]) => pattern.test(TERM))?.[1];
  if (known !== undefined) return known;
  if (Object.hasOwn(byProgram, TERM_PROGRAM)) return byProgram[TERM_PROGRAM] ?? "none";
  if (env.KITTY_WINDOW_ID) return "kitty";
  return env.LC_TERMINAL === "iTerm2" ? "iterm2" : "none"; // over ssh
}
