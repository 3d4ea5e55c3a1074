/**
 * Hosts of model APIs. The attack: a program in a cell calls a model at the user's expense, without supervision. Such a host
 * needs its own entry in the allowlist: a wildcard does not open it.
 */
const patterns: readonly RegExp[] = [
  /^api\.anthropic\.com$/,
  /(^|\.)api\.openai\.com$/,
  /\.openai\.azure\.com$/,
  /\.(services\.ai|cognitiveservices|inference\.ml)\.azure\.com$/,
  /^models\.inference\.ai\.azure\.com$/,
  /^models\.github\.ai$/,
  /^generativelanguage\.googleapis\.com$/,
  /(^|[.-])aiplatform\.googleapis\.com$/,
  /^bedrock(-[a-z-]+)?\.[a-z0-9-]+\.(amazonaws\.com|api\.aws)$/,
  /^api\.(mistral|x|together|fireworks|deepinfra|perplexity|hyperbolic)\.(ai|xyz|com)$/,
  /^api\.(cohere|groq|deepseek|cerebras|sambanova|replicate|moonshot|minimax|novita|stepfun)\.(com|ai|cn)$/,
  /^openrouter\.ai$/,
  /^(router|api-inference)\.huggingface\.co$/,
  /\.endpoints\.huggingface\.cloud$/,
  /^dashscope(-intl)?\.aliyuncs\.com$/,
  /^integrate\.api\.nvidia\.com$/,
];

export function isModelHost(host: string): boolean {
  return patterns.some((pattern) => pattern.test(host));
}
