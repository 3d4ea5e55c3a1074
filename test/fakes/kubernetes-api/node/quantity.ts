const factors: Record<string, number> = {
  ...{ "": 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 },
};

/** `128Mi` or `500m` as a number; undefined if it is not given. */
export function parseQuantity(value: string | number | undefined): number | undefined {
  const [, digits = "", unit = ""] = /^([\d.]+)(m|[kMGT]|[KMGT]i)?$/.exec(String(value ?? "")) ?? [];
  const factor = factors[unit];
  return digits === "" || factor === undefined ? undefined : Number(digits) * factor;
}
