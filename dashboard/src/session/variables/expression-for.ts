/** Pure: a name that is no plain word, as code in the cell can make one, is looked up as text. */
export function expressionFor(name: string): string {
  return /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(name) ? name : `globals()[${JSON.stringify(name)}]`;
}
