// The fake model's answer to a request: events like the engine's, with everything that a request can ask for.

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import {
  type ChatMessage,
  type ContentPart,
  EngineError,
  type ErrorCode,
  type MediaTokens,
  type TextEvent,
  type TextRequest,
  type TokenLogprob,
} from '../../src/index.ts';

type Done = Extract<TextEvent, { type: 'done' }>;
type Piece =
  | { type: 'delta' | 'reasoning'; text: string }
  | { type: 'toolCall'; call: number; id?: string; name?: string; arguments: string };

function lastText(request: TextRequest): string {
  if (!('messages' in request.prompt)) return '';
  const message: ChatMessage | undefined = request.prompt.messages.at(-1);
  const content = message?.content ?? '';
  return typeof content === 'string'
    ? content
    : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Ten tokens for each medium. */
function mediaTokens({ prompt }: TextRequest): { mediaTokens?: MediaTokens } {
  if (!('messages' in prompt)) return {};
  const types = prompt.messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.map(({ type }) => type) : [],
  );
  const tokens = (['image', 'video', 'audio'] as const).flatMap((kind) => {
    const count = types.filter((type) => type === kind).length;
    return count === 0 ? [] : [[kind, 10 * count]];
  });
  return tokens.length === 0 ? {} : { mediaTokens: Object.fromEntries(tokens) as MediaTokens };
}

function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener('abort', () => resolve(), { once: true });
  });
}

const words = (text: string): string[] => text.split(/(?= )/);
const pieces = (text: string): string[] => text.match(/.{1,4}/gs) ?? [];

function piecesOf(text: string): Piece[] {
  const [command, argument = '', ...rest] = text.split(' ');
  const plain = (parts: string[]): Piece[] => parts.map((word) => ({ type: 'delta', text: word }));
  if (command === 'flood') return plain(Array<string>(Number(argument)).fill('x'.repeat(1000)));
  if (command === 'think') {
    const thoughts = words(text.slice('think '.length));
    return [...thoughts.map((word): Piece => ({ type: 'reasoning', text: word })), ...plain(['so'])];
  }
  if (command !== 'call') return plain(words(text));
  return [
    { type: 'toolCall', call: 0, id: 'call_1', name: argument, arguments: '' },
    ...pieces(rest.join(' ')).map((part): Piece => ({ type: 'toolCall', call: 0, arguments: part })),
  ];
}

/** -0.25 for the sampled token, and a quarter less for each further one. */
function logprobOf(id: number, text: string, top: number): TokenLogprob {
  const bytes = [...Buffer.from(text)];
  return {
    id,
    bytes,
    logprob: -0.25,
    top: Array.from({ length: top }, (_, at) => ({ id: (id + at) % 256, bytes, logprob: -0.25 * (at + 1) })),
  };
}

export async function* answer(
  request: TextRequest,
  events: TextEvent[] | null,
  released: Promise<void>,
  signal: AbortSignal | undefined,
): AsyncGenerator<TextEvent, void, void> {
  const text = lastText(request);
  const [command, argument = ''] = text.split(' ');
  if (command === 'refuse') throw new EngineError(argument as ErrorCode, `refused with ${argument}`);
  if (command === 'media') {
    const { messages = [] } = request.prompt as { messages?: ChatMessage[] };
    const content = messages.at(-1)!.content as ContentPart[];
    const at = content.findIndex(({ type }) => type !== 'text');
    const param = `messages.${messages.length - 1}.content.${at}.${content[at]!.type}`;
    throw new EngineError(argument as ErrorCode, `${param} is no picture`, { param });
  }
  const { lora } = request;
  if (lora !== undefined && lora !== 'poet') {
    const message = `lora ${lora} is not loaded: this model has poet`;
    throw new EngineError('model_not_found', message, { param: 'lora' });
  }
  const promptTokens = 'ids' in request.prompt ? request.prompt.ids.length : text.split(' ').length;
  const maxTokens = request.maxTokens ?? 100;
  const promptIds = request.promptIds && { promptIds: Array.from({ length: promptTokens }, (_, at) => at) };
  const compiled = request.constraint && { compileMs: 20 };
  yield { type: 'accepted', promptTokens, maxTokens, ...mediaTokens(request), ...promptIds, ...compiled };
  if (command === 'wait') await Promise.race([sleep(Number(argument)), untilAborted(signal)]);
  if (command === 'hold') await Promise.race([released, untilAborted(signal)]);
  const cached = { device: 1, host: 0, storage: 0, storageBackend: 'file' };
  if (events) return yield* events;
  yield { type: 'prefill', processed: promptTokens, promptTokens, cachedTokens: 1, cached };

  const all = piecesOf(text);
  const wanted = all.slice(0, maxTokens);
  const choices = Array.from({ length: request.n ?? 1 }, (_, choice) => choice);
  const finish = (end: Omit<Done, 'type' | 'choice'>): Done[] =>
    choices.map((choice) => ({ type: 'done', choice, ...end, ...extras(request, end.completionTokens) }));
  for (const [at, piece] of wanted.entries()) {
    if (at > 0 && command === 'hang') await untilAborted(signal);
    if (at > 0 && command === 'fail') throw new EngineError(argument as ErrorCode, `failed with ${argument}`);
    if (at > 0 && command === 'crash') throw new TypeError('secret detail');
    if (at > 0 && command === 'cut') {
      const error = { code: argument as ErrorCode, message: `cut with ${argument}` };
      return yield* finish({ finishReason: 'abort', matchedStop: null, completionTokens: at, error });
    }
    if (signal?.aborted)
      return yield* finish({ finishReason: 'abort', matchedStop: null, completionTokens: at });
    const said = piece.type === 'toolCall' ? (piece.name ?? piece.arguments) : piece.text;
    const logprobs = request.logprobs !== undefined && {
      logprobs: [logprobOf(at % 256, said, request.logprobs)],
    };
    for (const choice of choices) yield { ...piece, choice, ids: [at % 256], ...logprobs };
    await nextTurn();
  }
  const isCut = wanted.length < all.length;
  const reasoningTokens = wanted.filter(({ type }) => type === 'reasoning').length;
  yield* finish({
    finishReason: isCut ? 'length' : command === 'call' ? 'tool_calls' : 'stop',
    matchedStop: isCut ? null : 2,
    completionTokens: wanted.length,
    ...(reasoningTokens > 0 && { reasoningTokens }),
  });
}

/** States of two numbers, and two experts in one layer. */
function extras({ hiddenStates, routedExperts }: TextRequest, tokens: number): Partial<Done> {
  const states = Array.from({ length: tokens }, (_, at) => [at, -at]);
  const data = new Uint8Array(Int32Array.from({ length: 2 * tokens }, (_, at) => at).buffer);
  return {
    ...(hiddenStates && { hiddenStates: hiddenStates === 'all' ? states : (states.at(-1) ?? []) }),
    ...(routedExperts && { routedExperts: { shape: [tokens, 1, 2], data } }),
  };
}
