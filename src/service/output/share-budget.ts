/** A claim to a share of a budget. */
export interface Claim {
  readonly need: number;
  /** granted even if it exceeds the budget; at most `need` */
  readonly floor: number;
  readonly weight: number;
}

/**
 * Weighted max-min fairness: no claim gets more than it needs, and what it does not need goes to the others. A small claim
 * is met in full, however large another is.
 */
export function shareBudget(claims: readonly Claim[], budget: number): number[] {
  const shares = claims.map((claim) => claim.floor);
  let left = budget - shares.reduce((sum, share) => sum + share, 0);
  let open = claims.map((claim, index) => ({ index, weight: claim.weight, missing: claim.need - claim.floor }));
  while (left > 0 && open.length > 0) {
    const unit = left / open.reduce((sum, one) => sum + one.weight, 0);
    const met = open.filter((one) => one.missing <= unit * one.weight);
    const given = met.length > 0 ? met : open;
    for (const one of given) {
      const share = Math.min(one.missing, Math.floor(unit * one.weight));
      shares[one.index] = (shares[one.index] ?? 0) + share;
      left -= share;
    }
    if (met.length === 0) break;
    open = open.filter((one) => !met.includes(one));
  }
  return shares;
}
