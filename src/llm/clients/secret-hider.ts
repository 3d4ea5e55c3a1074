import type { LmResponse } from "../client.ts";

/** Replaces secrets in a text. */
export type SecretHider = (text: string) => string;

/** Things that look like keys: in texts of servers and libraries that know keys we do not. */
const keyLike = /\b(?:sk|rk|pk|gsk|xai|AIza)[-_][\w-]{16,}|\bBearer\s+[\w.~+/-]{16,}=*/g;
/** Shorter values are common words, such as the key `ollama` of a server that needs none. */
const shortest = 8;
const placeholder = "[key]";

/**
 * Hides keys in what a server sent, before it is cut, logged, thrown or shown to a model. The attacks: an error page that echoes
 * the request's headers, an answer of a proxy that does so, and a body that breaks off in the middle of the key.
 */
export function secretHider(secrets: readonly string[]): SecretHider {
  const hidden = secrets
    .filter((secret) => secret.length >= shortest)
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString("base64").replace(/=+$/, ""),
    ])
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const whole = hidden.reduce((rest, secret) => rest.replaceAll(secret, placeholder), text);
    return hidden.reduce(withoutStartAtEnd, whole);
  };
}

/** Also hides everything that looks like a key. For errors only: an answer may be about keys. */
export function errorHider(hide: SecretHider): SecretHider {
  return (text) => hide(text).replace(keyLike, placeholder);
}

/** An answer is shown to models, recorded and kept: everything in it that the server wrote is cleaned. */
export function withoutSecrets(response: LmResponse, hide: SecretHider): LmResponse {
  const { text, requestId } = response;
  return {
    ...response,
    text: hide(text),
    ...(requestId !== undefined && { requestId: hide(requestId).slice(0, 200) }),
  };
}

/** Removes the start of a secret from the end of a text. */
function withoutStartAtEnd(text: string, secret: string): string {
  for (let length = Math.min(secret.length - 1, text.length); length >= shortest; length--) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}${placeholder}`;
  }
  return text;
}
