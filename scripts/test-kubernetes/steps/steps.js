import { apiRestarted } from "./api-restarted.js";
import { attacks } from "./attacks.js";
import { channels } from "./channels.js";
import { contract } from "./contract.js";
import { gatewayKilled } from "./gateway-killed.js";
import { gvisor } from "./gvisor.js";
import { manySessions } from "./many-sessions.js";
import { policiesEnforced, policiesIgnored } from "./network-policies.js";
import { nodeUnnoticed, nodeUnplugged } from "./node-unplugged.js";
import { pool } from "./pool.js";
import { roundTrips } from "./round-trips.js";
import { warmClaims } from "./warm-claims.js";

/**
 * @typedef {object} Step
 * @property {string} name for --only
 * @property {string} asks the question that it answers
 * @property {boolean} [needsOwnCluster]
 * @property {(context: import("./context.js").Context) => Promise<string | undefined>} [missing] what the cluster lacks for it
 * @property {(context: import("./context.js").Context) => Promise<{ detail: string, figures?: Record<string, number> }>} run
 */

/** @type {readonly Step[]} in this order: what others build on comes first, what disturbs the cluster last */
export const steps = [
  policiesIgnored,
  policiesEnforced,
  contract,
  attacks,
  gvisor,
  pool,
  warmClaims,
  channels,
  roundTrips,
  manySessions,
  gatewayKilled,
  apiRestarted,
  nodeUnplugged,
  nodeUnnoticed,
];
