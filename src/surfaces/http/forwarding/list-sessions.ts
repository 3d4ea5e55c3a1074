import { encodeRemoteSession, encodeSession, type WireSession } from "../../../service/wire/sessions/session.ts";
import { shownId } from "../../../sessions/session-id.ts";
import type { HttpService } from "../service.ts";

export interface ShownSession {
  /** full id with the tenant's namespace */
  readonly key: string;
  readonly session: WireSession;
  /** the gateway that has it open; absent: none, or this service is alone */
  readonly gateway?: string;
}

/** The sessions whose full id starts with `prefix`: those of this gateway, those of the others, and saved ones. */
export async function listSessions(
  { codecell, gateways }: Pick<HttpService, "codecell" | "gateways">,
  prefix: string,
): Promise<ShownSession[]> {
  const known = await codecell.list({ prefix });
  const shown = known.map((info) => ({ key: info.id, session: encodeSession({ ...info, id: shownId(info.id) }) }));
  if (!gateways) return shown;
  const here = new Map(shown.map((one) => [one.key, one]));
  const saved = new Map(known.map((info) => [info.id, info]));
  return (await gateways.sessions(prefix)).flatMap(({ key, owner, isSaved }): ShownSession[] => {
    const one = here.get(key);
    const gateway = owner?.isAlive ? owner.id : undefined;
    if (gateway === undefined) return one && isSaved ? [one] : [];
    if (codecell.isOpen(key)) return one ? [{ ...one, gateway }] : [];
    return [{ key, gateway, session: encodeRemoteSession(shownId(key), saved.get(key)) }];
  });
}
