/** Sets of tools that a server can offer. */
export const toolsetNames = ["all", "interpreter", "rlm"] as const;
/** A set of tools: for an interpreter, for recursive agents, or all. */
export type ToolsetName = (typeof toolsetNames)[number];
