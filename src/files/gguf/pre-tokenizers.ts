// The pre-tokenizers that tokenizer.ggml.pre names: the expressions that cut a text before its bytes are merged, as the models'
// tokenizer.json have them. source: the tokenizer.json of the models, and llama.cpp's table of names

/** A byte-level tokenizer's rules. */
export interface NamedPreTokenizer {
  /** Expressions, each of which cuts what the one before left. */
  splits: readonly string[];
  /** A piece that is a token stays whole, whatever the merges are. */
  ignoresMerges: boolean;
  /** Whether a text begins with BOS where the file does not say. */
  addsBos: boolean;
  normalizer: 'NFC' | null;
}

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const REST = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const WORD = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+';
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]';
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]';

const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
const LLAMA3 = `${CONTRACTIONS}|${WORD}|\\p{N}{1,3}|${REST}`;
const QWEN2 = `${CONTRACTIONS}|${WORD}|\\p{N}|${REST}`;
const QWEN35 = `${CONTRACTIONS}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const cased = (digits: string, contractions: string): string =>
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${contractions}|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${contractions}|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const GPT4O = cased('\\p{N}{1,3}', `${CONTRACTIONS}?`);
const TEKKEN = cased('\\p{N}', '');
const BLOOM = ' ?[^(\\s|.,!?…。，、।۔،)]+';
const CJK = '[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+';
const DEEPSEEK3 =
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const CJK_WIDE = '[\\u4e00-\\u9fa5\\u0800-\\u4e00\\uac00-\\ud7ff]+';
const PLAIN = { ignoresMerges: false, addsBos: false, normalizer: null } as const;

/** Rules → the names that have them. */
const RULES: readonly [NamedPreTokenizer, string][] = [
  [
    { ...PLAIN, splits: [LLAMA3], ignoresMerges: true, addsBos: true },
    'llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano',
  ],
  [{ ...PLAIN, splits: [LLAMA3] }, 'dbrx smaug-bpe'],
  [{ ...PLAIN, splits: [LLAMA3], ignoresMerges: true }, 'chatglm-bpe glm4 glm5'],
  [{ ...PLAIN, splits: [QWEN2], normalizer: 'NFC' }, 'qwen2 megrez'],
  [{ ...PLAIN, splits: [QWEN2] }, 'deepseek-r1-qwen stablelm2 hunyuan solar-open grok-2 kormo f2llmv2'],
  [{ ...PLAIN, splits: [QWEN35], normalizer: 'NFC' }, 'qwen35'],
  [{ ...PLAIN, splits: ['\\p{N}{1,3}', CJK, DEEPSEEK3] }, 'deepseek-v3 hunyuan-dense joyai-llm'],
  [{ ...PLAIN, splits: ['[\\r\\n]', '\\s?\\p{L}+', '\\s?\\p{P}+', CJK_WIDE, '\\p{N}'] }, 'deepseek-coder'],
  [
    { ...PLAIN, splits: [GPT2] },
    'gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe gigachat a.x-4.0 mellum modern-bert exaone4 trillion granite-docling',
  ],
  [
    { ...PLAIN, splits: ['\\p{N}', GPT2] },
    'starcoder refact command-r smollm codeshell exaone minerva-7b mellum2',
  ],
  [{ ...PLAIN, splits: ['[\\p{P}\\$\\+<=>\\^~\\|`]+', GPT2, '[0-9][0-9][0-9]'] }, 'falcon'],
  [{ ...PLAIN, splits: ['[\\p{P}\\$\\+<=>\\^~\\|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'] }, 'default'],
  [{ ...PLAIN, splits: [GPT4O] }, 'gpt-4o llama4 kanana2 minimax-m2'],
  [{ ...PLAIN, splits: [TEKKEN], ignoresMerges: true, addsBos: true }, 'tekken'],
  [{ ...PLAIN, splits: [BLOOM] }, 'bloom poro-chat gpt3-finnish'],
  [{ ...PLAIN, splits: [BLOOM, '\\p{N}'] }, 'viking'],
];

const BY_NAME: ReadonlyMap<string, NamedPreTokenizer> = new Map(
  RULES.flatMap(([rules, names]) => names.split(' ').map((name) => [name, rules] as const)),
);

/** null: nothing is known of the name. */
export function preTokenizer(name: string): NamedPreTokenizer | null {
  return BY_NAME.get(name) ?? null;
}

export function preTokenizerNames(): string[] {
  return [...BY_NAME.keys()].sort();
}
