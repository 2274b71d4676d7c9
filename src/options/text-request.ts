// The settings of a request for text that have the same shape in HTTP requests and in the library. Constraints, processors, tools and
// reasoning differ in shape, and the server's files that convert them have the tables.

import { LIMITS } from './limits.ts';
import type { Interface, Settings, SettingValues } from './setting.ts';

const OPENAI = ['chat', 'completions', 'responses'] as const satisfies Interface[];
const ANTHROPIC = [...OPENAI, 'anthropic'] as const satisfies Interface[];
const OLLAMA = [...OPENAI, 'ollama'] as const satisfies Interface[];
const ALL = [...ANTHROPIC, 'ollama'] as const satisfies Interface[];
const COMPLETIONS = ['chat', 'completions'] as const satisfies Interface[];

/** Sampling settings; every default but that of the temperature has no effect. */
export const SAMPLING = {
  temperature: {
    kind: { type: 'number', min: 0, max: 2 },
    help: 'Higher is more random; 0 is greedy.',
    default: 1,
    modelKey: 'temperature',
    by: 'kernels/sample.ts',
    in: ALL,
    flag: { group: 'Conversation', otherwise: "the model's" },
  },
  topP: {
    kind: { type: 'number', above: 0, max: 1 },
    help: 'Nucleus: share of the probability mass to sample from.',
    default: 1,
    modelKey: 'top_p',
    by: 'kernels/sample.ts',
    in: ALL,
    stricter: 'above 0, at most 1',
  },
  topK: {
    kind: { type: 'integer', min: -1, max: 2 ** 31 - 1 },
    help: 'Sample from the k best tokens; 0 and -1 mean all.',
    default: 0,
    modelKey: 'top_k',
    by: 'kernels/sample.ts',
    in: ALL,
    stricter: 'from -1 to 2147483647',
  },
  minP: {
    kind: { type: 'number', min: 0, max: 1 },
    help: "Share of the best token's probability a token needs.",
    default: 0,
    modelKey: 'min_p',
    by: 'kernels/sample.ts',
    in: OLLAMA,
    stricter: 'from 0 to 1',
  },
  n: {
    kind: { type: 'integer', min: 1, max: LIMITS.choices },
    help: 'Choices to generate.',
    default: 1,
    by: 'engine/text/request/sequences.ts',
    in: COMPLETIONS,
    stricter: `at most ${LIMITS.choices}`,
  },
  /** Default: a random seed. A seed gives the same text alone and in any batch. */
  seed: {
    kind: { type: 'integer', min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER },
    help: 'The same seed gives the same text; each choice draws its own.',
    by: 'engine/text/request/sequences.ts',
    in: OPENAI,
    flag: { group: 'Conversation', otherwise: 'random' },
    stricter: 'at most 2^53 - 1 either way',
  },
  frequencyPenalty: {
    kind: { type: 'number', min: -2, max: 2 },
    help: "Taken from a token's logit for each time it was generated.",
    default: 0,
    by: 'kernels/sample.ts',
    in: OLLAMA,
  },
  presencePenalty: {
    kind: { type: 'number', min: -2, max: 2 },
    help: 'Taken once from the logit of a token that was generated.',
    default: 0,
    by: 'kernels/sample.ts',
    in: OLLAMA,
  },
  repetitionPenalty: {
    kind: { type: 'number', above: 0, max: 2 },
    help: 'Divides positive logits of generated tokens, multiplies negative ones.',
    default: 1,
    modelKey: 'repetition_penalty',
    by: 'kernels/sample.ts',
    in: OLLAMA,
    fields: { ollama: 'repeat_penalty' },
    stricter: 'above 0, at most 2',
  },
  /** Token id → value added to its logit. */
  logitBias: {
    kind: { type: 'tokens', of: { type: 'number', min: -100, max: 100 }, most: LIMITS.biases },
    help: `Up to ${LIMITS.biases} token ids, each with a number added to that token's logit.`,
    by: 'kernels/sample.ts',
    in: OPENAI,
    stricter: `at most ${LIMITS.biases} entries`,
  },
  stop: {
    kind: { type: 'list', of: { type: 'text' }, most: LIMITS.stops, orOne: true },
    help: `Up to ${LIMITS.stops} strings that end a choice; not part of its text.`,
    by: 'engine/text/run/sequence-output.ts',
    in: OLLAMA,
    stricter: `at most ${LIMITS.stops}, none empty`,
  },
  stopTokenIds: {
    kind: { type: 'list', of: { type: 'tokenId' }, most: LIMITS.stopIds },
    help: 'Token ids that end a choice, with ignore_eos too.',
    by: 'engine/text/request/sequences.ts',
    in: OPENAI,
    stricter: `at most ${LIMITS.stopIds}, of the vocabulary`,
  },
  stopRegex: {
    kind: { type: 'list', of: { type: 'text' }, most: LIMITS.stops, orOne: true },
    help: `Up to ${LIMITS.stops} regular expressions that end a choice, matched in linear time.`,
    by: 'engine/text/run/sequence-output.ts',
    in: OPENAI,
    stricter: `at most ${LIMITS.stops}, of 4,000 places and 65,536 characters together, without look-around, back-references and flags`,
  },
  minTokens: {
    kind: { type: 'integer', min: 0 },
    help: 'Tokens before which no end token and no stop ends a choice, unless a grammar leaves nothing but the end; at most max_completion_tokens.',
    default: 0,
    by: 'engine/text/run/sequence.ts',
    in: OPENAI,
  },
  ignoreEos: {
    kind: { type: 'boolean' },
    help: 'Go on after the end-of-sequence token; stop and stop_token_ids hold.',
    default: false,
    by: 'engine/text/request/sequences.ts',
    in: OPENAI,
  },
  noStopTrim: {
    kind: { type: 'boolean' },
    help: 'What a stop matched stays in the text.',
    default: false,
    by: 'engine/text/run/sequence-output.ts',
    in: COMPLETIONS,
  },
  skipSpecialTokens: {
    kind: { type: 'boolean' },
    help: 'Leave special tokens out of the text.',
    default: true,
    by: 'engine/text/calls/piece.ts',
    in: COMPLETIONS,
  },
} as const satisfies Settings;

/** Settings for the scheduling of a request and for its LoRA. */
export const SCHEDULING = {
  /** Name of a loaded LoRA, or the folder of one. */
  lora: {
    kind: { type: 'text' },
    help: 'A loaded LoRA, or a folder of one that --lora-dir or --lora-paths allows; a suffix of model wins.',
    by: 'engine/text/lora/loras.ts',
    in: OPENAI,
    field: 'lora_path',
  },
  priority: {
    kind: { type: 'integer', min: -(2 ** 31), max: 2 ** 31 - 1 },
    help: 'Higher comes first; where the queue is full, it takes the place of the lowest that waits, which gets 503.',
    default: 0,
    by: 'engine/text/run/scheduler.ts',
    in: OPENAI,
  },
  /** Default: true. Has no effect on the tokens. */
  speculative: {
    kind: { type: 'boolean' },
    help: 'false: no tokens are drafted for this request, on a server that drafts.',
    default: true,
    by: 'engine/text/speculation/speculator.ts',
    in: OPENAI,
  },
} as const satisfies Settings;

/** Settings that a model may define in generation_config.json. */
type FromModel<T extends Settings> = {
  readonly [K in keyof T as T[K] extends { modelKey: string } ? K : never]: T[K];
};

export type ModelSampling = FromModel<typeof SAMPLING>;

export const MODEL_SAMPLING = Object.fromEntries(
  Object.entries(SAMPLING).filter(([, setting]) => 'modelKey' in setting),
) as ModelSampling;

/** Missing settings take the value of generation_config.json, else the default. */
export type SamplingOptions = SettingValues<ModelSampling>;

/** Builds an object with one value per sampling setting. */
export const mapSampling = <T>(
  valueOf: (name: keyof SamplingOptions, setting: ModelSampling[keyof ModelSampling]) => T,
): Record<keyof SamplingOptions, T> =>
  Object.fromEntries(
    Object.entries(MODEL_SAMPLING).map(([name, setting]) => [
      name,
      valueOf(name as keyof SamplingOptions, setting),
    ]),
  ) as Record<keyof SamplingOptions, T>;
