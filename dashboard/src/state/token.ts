import { effect, signal } from "@preact/signals";
import type { ApiError } from "../api/api-error.ts";

const key = "codecell.token";

/**
 * The token of a link that was opened in a tab with another token. The attack: a link of a stranger signs the user in as the
 * stranger, who then reads what the user uploads and runs. So the user decides.
 */
export const offered = signal<string | undefined>(undefined);

/** The token of this tab. It stays in the tab's own storage, so that a reload works and closing the tab forgets it. */
export const token = signal<string | undefined>(firstToken());

/** Why the service no longer accepts the token; undefined: it does, or the user signed out. */
export const refusal = signal<ApiError | undefined>(undefined);

effect(() => {
  if (token.value === undefined) sessionStorage.removeItem(key);
  else sessionStorage.setItem(key, token.value);
});

// A link that is opened in a tab with the page changes only its fragment, and loads nothing.
addEventListener("hashchange", () => {
  const given = takenToken();
  if (given !== undefined) token.value = chosen(token.value, given);
});

function firstToken(): string | undefined {
  const kept = sessionStorage.getItem(key) ?? undefined;
  const given = takenToken();
  return given === undefined ? kept : chosen(kept, given);
}

/** The token to use now, if a link has another one. */
function chosen(kept: string | undefined, given: string): string {
  if (kept === undefined || kept === given) return given;
  offered.value = given;
  return kept;
}

/**
 * Takes the token out of the address: neither Back nor a copied link has it. The browser's own list of visited pages may keep the
 * address as it was opened.
 */
function takenToken(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null || given === "") return undefined;
  history.replaceState(null, "", `${location.pathname}#/`);
  return given;
}
