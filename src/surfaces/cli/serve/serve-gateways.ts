import { networkInterfaces } from "node:os";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { duration } from "../../../policy/units.ts";
import type { Gateways } from "../../../service/gateways/gateways.ts";
import type { Database } from "../../../store/postgres/database.ts";
import type { SessionOwners } from "../../../store/postgres/session-owner.ts";
import type { Listener } from "../../http/listen.ts";
import type { HttpService } from "../../http/service.ts";
import type { OptionTable } from "../shell/arguments.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { Terminal } from "../shell/terminal.ts";
import { webAddress } from "./web-address.ts";

export const gatewayOptions = {
  "gateway-url": {
    type: "string",
    value: "URL",
    help: "With a database: how other gateways reach this one. Default: $CODECELL_GATEWAY_URL, or the address it listens on.",
  },
  "gateway-lease": {
    type: "string",
    value: "15s",
    help: "With a database: how long others wait for a gateway that does not answer before they take its sessions. Default: 15s.",
  },
} as const satisfies OptionTable;

export interface GatewayFlags {
  readonly "gateway-url"?: string | undefined;
  readonly "gateway-lease"?: string | undefined;
}

/** This service as one of several gateways. */
export interface ServedGateways {
  readonly gateways: Gateways;
  readonly owners: SessionOwners;
  /** signs links, so that every gateway can serve them */
  readonly linkKey: Uint8Array;
}

/** Prepares to share a database with other gateways. `Gateways.join` makes this one known to them. */
export async function openGateways(
  flags: GatewayFlags,
  { database, leases }: { readonly database: Database; readonly leases: Database },
  { logger, cleanup }: { readonly logger: CommandLogger; readonly cleanup: Cleanup },
): Promise<ServedGateways> {
  const leaseMs = parseLease(flags["gateway-lease"]);
  const { Gateways } = await import("../../../service/gateways/gateways.ts");
  const { GatewayOwners } = await import("../../../store/postgres/gateway-owners.ts");
  const { PostgresDirectory } = await import("../../../store/postgres/postgres-directory.ts");
  const directory = new PostgresDirectory(database, leases);
  // The loss is an error, which is always printed; so must be its end.
  const onHeldAgain = logger.announce.bind(logger);
  const gateways = new Gateways({ directory, leaseMs, logger, onHeldAgain });
  cleanup.defer(() => gateways[Symbol.asyncDispose]());
  const owners = new GatewayOwners(database, gateways.lease);
  return { gateways, owners, linkKey: await directory.sharedKey("links") };
}

/** Lets a service know which sessions other gateways open and close, for those who follow its events. */
export async function followMoves(
  database: Database,
  service: Pick<HttpService, "sessionMoved">,
  { logger, cleanup }: { readonly logger: CommandLogger; readonly cleanup: Cleanup },
): Promise<void> {
  const { listenForSessions } = await import("../../../store/postgres/session-news.ts");
  const news = await listenForSessions(database, {
    onChanged: (key, gateway) => service.sessionMoved({ key, gateway }),
    onMissed: () => service.sessionMoved(),
    logger,
  });
  cleanup.defer(() => news[Symbol.asyncDispose]());
}

/** An operator who forgot the database would believe that several gateways share it. */
export function assertNoGatewayFlags(flags: GatewayFlags): void {
  const name = (["gateway-url", "gateway-lease"] as const).find((flag) => flags[flag] !== undefined);
  if (name === undefined) return;
  throw new CodecellError("usage", `--${name} needs a database that the gateways share`, {
    hint: "add --database URL, or set CODECELL_DATABASE_URL or CODECELL_DATABASE_URL_FILE",
  });
}

/** The address that the operator gave to the other gateways; undefined: none. */
export function givenGatewayUrl(flags: GatewayFlags, { env }: Pick<Terminal, "env">): string | undefined {
  const text = flags["gateway-url"] ?? (env.CODECELL_GATEWAY_URL || undefined);
  if (text === undefined) return undefined;
  const address = webAddress(text);
  if (address !== undefined) return address;
  throw new CodecellError("usage", `the address of this gateway, ${JSON.stringify(text)}, is not a valid URL`, {
    hint: "use an address such as http://10.0.0.7:7410 in --gateway-url or CODECELL_GATEWAY_URL",
  });
}

/** Where this gateway listens, as others reach it. A wildcard says nothing, so the first address of the machine is taken. */
export function ownAddress({ url, port }: Pick<Listener, "url" | "port">): string {
  if (!/\/\/(?:0\.0\.0\.0|\[::\]):/.test(url)) return url;
  const addresses = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
  const address = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
  return `http://${address}:${port}`;
}

function parseLease(text = "15s"): number {
  const parsed = duration().safeParse(text);
  if (parsed.success && parsed.data >= 1_000 && parsed.data <= 300_000) return parsed.data;
  throw new CodecellError("usage", `--gateway-lease ${text} is not a valid duration`, {
    hint: "use a value from 1s to 5m, such as 15s",
  });
}
