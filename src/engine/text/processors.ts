// Processors that a request names: what they leave of the tokens that may come. Those that look at what was said are constraints like
// a grammar; those that do not are one set of bits for the whole request.

import { EngineError } from '../../files/error.ts';
import type { Tokenizer } from '../../files/tokenizer.ts';
import { maskWords } from '../../kernels/logits-mask.ts';
import type { Constraint } from './constraint.ts';
import type { LogitProcessor, TextRequest } from './text-model.ts';

type Of<Name extends LogitProcessor['name']> = Extract<LogitProcessor, { name: Name }>;

/** Tokens that no processor rules out from the start; null: all. */
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

/** `constraint` and the processors that look at what was said, of one choice; null: there are none. */
export function withProcessors(
  constraint: Constraint | null,
  processors: readonly LogitProcessor[],
  { tokenizer, prompt }: { tokenizer: Tokenizer; prompt: readonly number[] },
): Constraint | null {
  const bans = processors.flatMap((processor): Bans[] => {
    if (processor.name === 'no_repeat_ngram') return [noRepeatedRuns(processor, prompt)];
    if (processor.name === 'bad_words') return [badWords(processor, tokenizer)];
    return [];
  });
  return bans.length === 0 ? constraint : banning(constraint, bans);
}

/** Tokens that must not come next. */
interface Bans {
  next(): Iterable<number>;
  has(id: number): boolean;
  accept(id: number): void;
  fork(): Bans;
}

function banning(constraint: Constraint | null, bans: readonly Bans[]): Constraint {
  return {
    mask(into) {
      if (constraint === null || !constraint.mask(into)) into.fill(0xffffffff);
      for (const one of bans) for (const id of one.next()) into[id >> 5]! &= ~(1 << (id & 31));
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
  };
}

/** Runs of prompt and reply alike. */
function noRepeatedRuns({ size, window = Infinity }: Of<'no_repeat_ngram'>, prompt: readonly number[]): Bans {
  const seen: number[] = [];
  /** The first tokens of a run → what came after them, and where last. */
  const runs = new Map<string, Map<number, number>>();
  const accept = (id: number): void => {
    seen.push(id);
    const first = seen.length - size;
    if (first < 0) return;
    const key = seen.slice(first, -1).join();
    const after = runs.get(key) ?? new Map<number, number>();
    runs.set(key, after.set(id, first));
  };
  prompt.forEach(accept);
  const after = (): Map<number, number> | undefined =>
    seen.length < size - 1 ? undefined : runs.get(seen.slice(seen.length - size + 1).join());
  return {
    accept,
    *next() {
      for (const [id, at] of after() ?? []) if (at >= seen.length - window) yield id;
    },
    has(id) {
      const at = after()?.get(id);
      return at !== undefined && at >= seen.length - window;
    },
    fork: () => noRepeatedRuns({ name: 'no_repeat_ngram', size, window }, seen),
  };
}

/** Words as they stand and behind a space, in the tokens that the tokenizer has for them. */
function badWords({ words }: Of<'bad_words'>, tokenizer: Tokenizer): Bans {
  const runs = words
    .flatMap((word) => [word, ` ${word.trimStart()}`])
    .map((text) => tokenizer.encode(text, { addSpecialTokens: false }))
    .filter((ids) => ids.length > 0);
  return bannedRuns(runs, []);
}

function bannedRuns(runs: readonly (readonly number[])[], said: readonly number[]): Bans {
  const longest = Math.max(0, ...runs.map((ids) => ids.length));
  let tail = [...said];
  function* next(): Generator<number> {
    for (const ids of runs) {
      const before = ids.slice(0, -1);
      const from = tail.length - before.length;
      if (from >= 0 && before.every((id, i) => tail[from + i] === id)) yield ids.at(-1)!;
    }
  }
  return {
    accept(id) {
      tail = [...tail, id].slice(-longest);
    },
    next,
    has: (id) => [...next()].includes(id),
    fork: () => bannedRuns(runs, tail),
  };
}

/** A thinking budget among the processors is one of the request's reasoning; the least of them holds. */
export function withThinkingBudget(request: TextRequest): TextRequest {
  const budgets = (request.processors ?? []).flatMap((processor) =>
    processor.name === 'thinking_budget' ? [processor.tokens] : [],
  );
  if (budgets.length === 0) return request;
  const budget = Math.min(...budgets, request.reasoning?.budget ?? Infinity);
  return { ...request, reasoning: { ...request.reasoning, budget } };
}

/** The request's own function on logits; null: it has none. */
export function wgslSource(processors: readonly LogitProcessor[]): string | null {
  const [one, another] = processors.flatMap((processor) =>
    processor.name === 'wgsl' ? [processor.source] : [],
  );
  if (another === undefined) return one ?? null;
  throw new EngineError('bad_request', 'processors has more than one of wgsl: make one function of them', {
    param: 'processors',
  });
}

/** Throws bad_request for a function that cannot be run, or that this model does not take. */
export async function checkWgsl(
  { processors = [] }: TextRequest,
  check: ((source: string) => Promise<void>) | null,
): Promise<void> {
  const source = wgslSource(processors);
  if (source === null) return;
  if (check === null) {
    throw new EngineError(
      'bad_request',
      'processors has a function in WGSL, which this model does not take: open it with --enable-custom-logit-processor',
      { param: 'processors' },
    );
  }
  await check(source);
}
