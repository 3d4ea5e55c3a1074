/** The end of an id that only the gateway which made it knows: any other gateway sees where to ask. */
export function gatewayTag(gateway: string): string {
  return `.${gateway}`;
}

/** Pure: the gateway that made an id; undefined: the id does not say. */
export function taggedGateway(id: string): string | undefined {
  return /\.(g-[0-9a-f]{10})$/.exec(id)?.[1];
}
