// Logit processors of a request as restrictions of the next token. Processors that depend on the generated text are constraints
// like a grammar; the others are one bit set for the whole request.

import { option, say, subject } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import { maskWords } from '../../../kernels/logits-mask.ts';
import { bannedWords, type Bans } from './banned-words.ts';
import { lookAhead, type Constraint } from '../calls/constraint.ts';
import type { Vocabulary } from '../../../grammar/masks/vocabulary.ts';
import { repeatedRuns, type RepeatedRuns } from './repeated-runs.ts';
import type { LogitProcessor, TextRequest } from '../calls/text-model.ts';

type Of<Name extends LogitProcessor['name']> = Extract<LogitProcessor, { name: Name }>;

/** Returns the tokens that no processor excludes for the whole request; null: all. */
export function allowedTokens(processors: readonly LogitProcessor[], vocabulary: number): Uint32Array | null {
  let allowed: Uint32Array | null = null;
  for (const processor of processors) {
    if (processor.name !== 'allowed_tokens' && processor.name !== 'disallowed_tokens') continue;
    const bits = new Uint32Array(maskWords(vocabulary));
    for (const id of processor.tokens) bits[id >> 5]! |= 1 << (id & 31);
    if (processor.name === 'disallowed_tokens') bits.forEach((word, i) => (bits[i] = ~word));
    const before: Uint32Array | null = allowed;
    allowed = before ? bits.map((word, i) => word & before[i]!) : bits;
  }
  return allowed;
}

interface ProcessorContext {
  vocabulary: Vocabulary;
  prompt: readonly number[];
  /** The first token begins the text, and its leading space is removed if the tokenizer does so. */
  opens?: boolean;
}

/** Adds the processors that depend on the generated text to the constraint of a choice; returns null if there is neither. */
export function withProcessors(
  processors: readonly LogitProcessor[],
  { vocabulary, prompt, opens = true }: ProcessorContext,
): (constraint: Constraint | null) => Constraint | null {
  const starts = processors.flatMap((processor): (() => Bans)[] => {
    if (processor.name === 'no_repeat_ngram') return [noRepeatedRuns(processor, prompt)];
    if (processor.name === 'bad_words') return [bannedWords(processor.words, vocabulary, opens)];
    return [];
  });
  if (starts.length === 0) return (constraint) => constraint;
  return (constraint) =>
    banning(
      constraint,
      starts.map((start) => start()),
    );
}

function banning(constraint: Constraint | null, bans: readonly Bans[]): Constraint {
  const texts = bans.filter(({ bansTexts }) => bansTexts);
  return {
    mask(into) {
      const isMasked = constraint?.mask(into) ?? false;
      if (!isMasked) into.fill(0xffffffff);
      for (const one of bans) one.clear(into);
      if (!isMasked || texts.length === 0) return true;
      for (const id of fewIn(into))
        if (mustEndIn(texts, constraint!, id)) into[id >> 5]! &= ~(1 << (id & 31));
      return true;
    },
    accept(id) {
      constraint?.accept(id);
      for (const one of bans) one.accept(id);
    },
    forced: () => constraint?.forced() ?? [],
    bars: (id) => bans.some((one) => one.has(id)),
    get ended() {
      return constraint?.ended ?? false;
    },
    fork: () =>
      banning(
        constraint?.fork() ?? null,
        bans.map((one) => one.fork()),
      ),
    ahead() {
      const inner = constraint && lookAhead(constraint);
      if (constraint !== null && inner === null) return null;
      return banning(
        inner,
        bans.map((one) => one.fork()),
      );
    },
    get part() {
      return constraint?.part;
    },
  };
}

/** Limit on the number of allowed tokens up to which each is checked for a banned text that it would make unavoidable. */
const FEW = 64;

/** Returns the ids whose bits are set in a mask; [] if there are more than FEW. */
function fewIn(mask: Uint32Array): number[] {
  const ids: number[] = [];
  for (let i = 0; i < mask.length; i++) {
    for (let word = mask[i]!; word !== 0; word &= word - 1) {
      if (ids.length === FEW) return [];
      ids.push(32 * i + 31 - Math.clz32(word & -word));
    }
  }
  return ids;
}

/** Returns true if the text that must follow this token contains a banned one. */
function mustEndIn(texts: readonly Bans[], constraint: Constraint, id: number): boolean {
  const ahead = constraint.fork();
  ahead.accept(id);
  const run = ahead.forced();
  return texts.some((one) => {
    const continuation = one.fork();
    return [id, ...run].some((next) => {
      const isBanned = continuation.has(next);
      continuation.accept(next);
      return isBanned;
    });
  });
}

/** Prevents repeated runs of tokens, in the prompt and the reply together. */
function noRepeatedRuns(
  { size, window = Infinity }: Of<'no_repeat_ngram'>,
  prompt: readonly number[],
): () => Bans {
  const bans = (runs: RepeatedRuns): Bans => ({
    clear: (into) => runs.ends(window, (id) => void (into[id >> 5]! &= ~(1 << (id & 31)))),
    has(id) {
      let found = false;
      runs.ends(window, (end) => void (found ||= end === id));
      return found;
    },
    accept: runs.add,
    fork: () => bans(runs.fork()),
  });
  const begin = repeatedRuns(size, prompt);
  return () => bans(begin());
}

/** Applies a thinking_budget processor to the request's reasoning; the smallest budget counts. */
export function withThinkingBudget(request: TextRequest): TextRequest {
  const budgets = (request.processors ?? []).flatMap((processor) =>
    processor.name === 'thinking_budget' ? [processor.tokens] : [],
  );
  if (budgets.length === 0) return request;
  const budget = Math.min(...budgets, request.reasoning?.budget ?? Infinity);
  return { ...request, reasoning: { ...request.reasoning, budget } };
}

/** Returns the WGSL source of the request's own function on logits; null if it has none. */
export function wgslSource(processors: readonly LogitProcessor[]): string | null {
  const [one, another] = processors.flatMap((processor) =>
    processor.name === 'wgsl' ? [processor.source] : [],
  );
  if (another === undefined) return one ?? null;
  throw badRequest('processors has more than one of wgsl: make one function of them', 'processors');
}

/** Throws bad_request for a function that cannot run or that the model does not accept. */
export async function checkWgsl(
  { processors = [] }: TextRequest,
  check: ((source: string) => Promise<void>) | null,
): Promise<void> {
  const source = wgslSource(processors);
  if (source === null) return;
  if (check === null) {
    throw badRequest(
      say`${subject('processors')} has a function in WGSL, which this model does not take: open it with ${option('customLogitProcessors')}`,
      'processors',
    );
  }
  await check(source);
}
