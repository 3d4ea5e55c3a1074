/** Sets of tools that a server can offer. */
export const toolsetNames = ["all", "interpreter", "rlm"] as const;
export type ToolsetName = (typeof toolsetNames)[number];
