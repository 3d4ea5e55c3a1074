import { checkLink, type LinkCheck, type LinkClaim, signLink } from "../../artifacts/signed-link.ts";
import { sessionKey } from "../../sessions/session-id.ts";
import { checkDisplay, type DisplayCheck, type DisplayClaim, signDisplay } from "./display-link.ts";

export const defaultLinkMs = 3_600_000;
/** The path of links, below the service's address. */
export const downloadPath = "/v1/download/";
export const displayPath = "/v1/display/";
export const maxLinkMs = 7 * 24 * 3_600_000;

/** Creates and checks the links of one service. Only links signed with its own key are valid. */
export class Links {
  readonly #key: Uint8Array;
  readonly #now: () => number;
  /** the service's public address; set once it listens, unless there is a reverse proxy */
  baseUrl: string;

  constructor(key: Uint8Array, options: { baseUrl: string; now: () => number }) {
    this.#key = key;
    this.#now = options.now;
    this.baseUrl = options.baseUrl;
  }

  url(
    namespace: string,
    file: { readonly session: string; readonly name: string; readonly sha256: string },
    options: { forMs?: number; disposition?: LinkClaim["disposition"] } = {},
  ): { url: string; expiresMs: number } {
    const { forMs = defaultLinkMs, disposition = "attachment" } = options;
    const expiresMs = this.#now() + forMs;
    const { session, name, sha256 } = file;
    const claim = { session: sessionKey(namespace, session), name, sha256, expiresMs, disposition };
    return { url: `${this.baseUrl}${downloadPath}${signLink(this.#key, claim)}`, expiresMs };
  }

  /** `path` is the link without the address, for pages of the service itself. */
  display(namespace: string, claim: Omit<DisplayClaim, "expiresMs">, forMs: number) {
    const expiresMs = this.#now() + forMs;
    const session = sessionKey(namespace, claim.session);
    const path = `${displayPath}${signDisplay(this.#key, { ...claim, session, expiresMs })}`;
    return { url: `${this.baseUrl}${path}`, path, expiresMs };
  }

  checkDisplay(text: string): DisplayCheck {
    return checkDisplay(this.#key, text, this.#now());
  }

  check(text: string): LinkCheck {
    return checkLink(this.#key, text, this.#now());
  }
}
