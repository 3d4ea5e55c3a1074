const factors: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/** Pure: a quantity as Kubernetes writes it, such as 500m, 1.5Gi or 1e3. NaN: it is none. */
export function quantity(value: string | number): number {
  const [, digits = "", suffix = ""] =
    /^([+-]?\d*\.?\d+(?:[eE][+-]?\d+)?|[+-]?\d+\.)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  return digits === "" ? Number.NaN : Number(digits) * (factors[suffix] ?? Number.NaN);
}
