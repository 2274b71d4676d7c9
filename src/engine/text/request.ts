// From a request to sequences: the prompt's ids, the sampling values in force, one sequence a choice.

import { createDetokenizer } from '../../files/detokenizer.ts';
import { EngineError } from '../../files/error.ts';
import type { ChatTemplate } from '../../files/template.ts';
import type { Tokenizer } from '../../files/tokenizer.ts';
import { LONG_TEXT, type LongTextEncoder } from './long-text.ts';
import type { Sequence, SequenceSampling } from './sequence.ts';
import { createStopMatcher } from './stops.ts';
import type { SamplingOptions, TextPrompt, TextRequest } from './text-model.ts';

/** Entries of one request's logit_bias. */
export const MOST_BIASES = 1024;
const MOST_CHOICES = 128;

export interface RequestContext {
  tokenizer: Tokenizer;
  /** For texts that would hold up the thread; null: there is no other. */
  longText: LongTextEncoder | null;
  template: ChatTemplate;
  vocabulary: number;
  contextLength: number;
  endIds: readonly number[];
  sampling: Required<SamplingOptions>;
}

/** The prompt as the model sees it. */
export async function renderPrompt(
  prompt: TextPrompt,
  context: RequestContext,
): Promise<{ text: string; ids: number[] }> {
  const { tokenizer, template, vocabulary } = context;
  if ('ids' in prompt) {
    const bad = prompt.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
    if (bad !== undefined) {
      throw new EngineError('bad_request', `token id ${bad} is outside the vocabulary of ${vocabulary}`, {
        param: 'prompt',
      });
    }
    return { text: tokenizer.decode(prompt.ids, { skipSpecialTokens: false }), ids: prompt.ids };
  }
  if ('text' in prompt)
    return { text: prompt.text, ids: checkIds(await encode(prompt.text, true, context), vocabulary) };
  const text = template.render({
    messages: prompt.messages,
    ...(prompt.tools ? { tools: prompt.tools } : {}),
    ...(prompt.templateKwargs ? { kwargs: prompt.templateKwargs } : {}),
  });
  return { text, ids: checkIds(await encode(text, false, context), vocabulary) };
}

/** A tokenizer may know more tokens than the model has rows for. */
function checkIds(ids: number[], vocabulary: number): number[] {
  const beyond = ids.find((id) => id >= vocabulary);
  if (beyond === undefined) return ids;
  throw new EngineError(
    'bad_checkpoint',
    `the tokenizer gives token ${beyond}, the model has ${vocabulary}: tokenizer.json does not belong to config.json, fetch the checkpoint again`,
  );
}

async function encode(
  text: string,
  addSpecialTokens: boolean,
  { tokenizer, longText }: RequestContext,
): Promise<number[]> {
  if (longText && text.length > LONG_TEXT) return longText.encode(text, addSpecialTokens);
  return tokenizer.encode(text, { addSpecialTokens });
}

/** Sequences of a request, ready to be scheduled. */
export function createSequences(
  request: TextRequest,
  ids: number[],
  context: RequestContext,
  listener: Pick<Sequence, 'emit' | 'fail'>,
): Sequence[] {
  const { contextLength, tokenizer, endIds } = context;
  if (ids.length === 0)
    throw new EngineError('bad_request', 'the prompt holds no tokens: send some text', { param: 'messages' });
  if (ids.length >= contextLength) {
    throw new EngineError(
      'context_length_exceeded',
      `the prompt has ${ids.length} tokens, the context holds ${contextLength} with the reply: shorten the conversation`,
      { param: 'messages' },
    );
  }
  const maxTokens = Math.min(
    whole(request.maxTokens ?? contextLength, 'max_tokens', 1, Infinity),
    contextLength - ids.length,
  );
  const choices = whole(request.n ?? 1, 'n', 1, MOST_CHOICES);
  const seed = request.seed ?? Math.floor(Math.random() * 2 ** 32);
  const stopIds = new Set([...(request.stopTokenIds ?? []), ...(request.ignoreEos ? [] : endIds)]);
  return Array.from({ length: choices }, (_, choice): Sequence => ({
    choice,
    promptTokens: ids.length,
    ids: [...ids],
    computed: 0,
    inFlight: 0,
    pages: [],
    slot: null,
    maxTokens,
    sampling: readSampling(request, context, seed, choice),
    stopIds,
    stops: createStopMatcher(request.stop ?? []),
    detokenizer: createDetokenizer(tokenizer),
    heldIds: [],
    finished: false,
    losses: 0,
    ...listener,
  }));
}

/** Request over generation_config.json over the contract. Below a millionth a temperature is greedy. */
function readSampling(
  request: TextRequest,
  context: RequestContext,
  seed: number,
  choice: number,
): SequenceSampling {
  const defaults = context.sampling;
  const temperature = within(request.temperature ?? defaults.temperature, 'temperature', 0, 2);
  const topP = within(request.topP ?? defaults.topP, 'top_p', 0, 1);
  if (topP === 0)
    throw new EngineError('bad_request', 'top_p is 0, it must be above 0 and at most 1', { param: 'top_p' });
  const { low, high } = splitSeed(seed);
  return {
    temperature: temperature < 1e-6 ? 0 : temperature,
    topP,
    topK: whole(request.topK ?? defaults.topK, 'top_k', -1, 2 ** 31 - 1),
    minP: within(request.minP ?? defaults.minP, 'min_p', 0, 1),
    seedLow: low,
    seedHigh: (high ^ Math.imul(choice, 0x9e3779b9)) >>> 0,
    bias: readBias(request.logitBias ?? {}, context.vocabulary),
  };
}

function splitSeed(seed: number): { low: number; high: number } {
  if (!Number.isInteger(seed))
    throw new EngineError('bad_request', `seed is ${seed}, it must be an integer`, { param: 'seed' });
  const wide = BigInt.asUintN(64, BigInt(seed));
  return { low: Number(wide & 0xffffffffn), high: Number(wide >> 32n) };
}

function readBias(bias: Readonly<Record<string, number>>, vocabulary: number): SequenceSampling['bias'] {
  const entries = Object.entries(bias);
  if (entries.length > MOST_BIASES) {
    throw new EngineError(
      'bad_request',
      `logit_bias has ${entries.length} entries, at most ${MOST_BIASES} are taken`,
      { param: 'logit_bias' },
    );
  }
  return entries.map(([token, value]) => {
    const id = Number(token);
    if (!/^\d+$/.test(token) || id >= vocabulary) {
      throw new EngineError(
        'bad_request',
        `logit_bias names token ${token}, ids go from 0 to ${vocabulary - 1}`,
        { param: 'logit_bias' },
      );
    }
    return [id, within(value, 'logit_bias', -100, 100)] as const;
  });
}

function within(value: number, name: string, low: number, high: number): number {
  if (Number.isFinite(value) && value >= low && value <= high) return value;
  throw new EngineError('bad_request', `${name} is ${value}, it must lie between ${low} and ${high}`, {
    param: name,
  });
}

function whole(value: number, name: string, low: number, high: number): number {
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  if (value === Infinity && high === Infinity) return value;
  throw new EngineError(
    'bad_request',
    `${name} is ${value}, it must be an integer from ${low}${high === Infinity ? ' on' : ` to ${high}`}`,
    { param: name },
  );
}
