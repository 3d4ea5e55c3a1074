/**
 * A rough count of a model's tokens, without any model's vocabulary: four ASCII characters are about one token, two of
 * other alphabets, one of Chinese, Japanese or Korean; what lies beyond the basic plane (emoji) takes about two. It is
 * meant for budgets, and is within some 30 % on prose and code; long numbers and base64 take more than it says.
 */
export function estimateTokens(text: string): number {
  let quarters = 0;
  for (let at = 0; at < text.length; at++) quarters += quarterTokens(text.charCodeAt(at));
  return Math.ceil(quarters / 4);
}

/** Per UTF-16 unit, so a surrogate pair counts twice. */
function quarterTokens(unit: number): number {
  if (unit < 0x80) return 1;
  return unit < 0x1100 || (unit >= 0x1200 && unit < 0x2e80) ? 2 : 4;
}
