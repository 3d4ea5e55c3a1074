import { type StateFlags, stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { chosenProtocol, type PlotFlags } from "./plot-options.ts";
import { namedPlots, type PlotSettings, Plots } from "./plots.ts";

/** The plots of a command with these flags; `session`: the session that it runs in. */
export function openPlots(flags: PlotFlags & StateFlags, terminal: Terminal, session?: string): Promise<Plots> {
  return Plots.open(plotSettings(flags, terminal, session));
}

export function plotSettings(flags: PlotFlags & StateFlags, terminal: Terminal, session?: string): PlotSettings {
  return {
    named: namedPlots(flags.plots, terminal),
    stateDir: stateDirOf(flags, terminal),
    session,
    images: chosenProtocol(flags, terminal),
  };
}
