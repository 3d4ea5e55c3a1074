/** Surfaces do not import runners; they get them here. */
export { builtInRunners } from "../runners/built-in-runners.ts";
