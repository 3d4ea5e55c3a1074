import type { Peer } from "../load-peer.ts";

export const agentsPackage: Peer = {
  specifier: "@openai/agents",
  install: "@openai/agents@0.20",
  names: ["tool", "applyDiff"],
};

export const agentsSandboxPackage: Peer = {
  specifier: "@openai/agents/sandbox",
  install: "@openai/agents@0.20",
  names: ["Manifest", "normalizeSandboxClientCreateArgs"],
};
