/**
 * CI asks a question once where the same code answers it again: in one of two engines or layouts, and a few times where chance decides.
 * `ATTACKS=all`, which `npm run verify` sets, asks it everywhere and more often.
 */
export const isThorough = process.env.ATTACKS === "all";
