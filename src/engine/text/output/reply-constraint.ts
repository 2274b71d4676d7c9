// The constraint that enforces a request's grammar and reasoning budget on one choice. Before a grammar, reasoning may be any text, and the
// grammar begins after its end. A budget ends the reasoning once it is spent. If reasoning is optional, the first generated tokens decide.

import type { Constraint } from '../calls/constraint.ts';
import { withEngineErrors } from '../calls/grammar-error.ts';
import type { Grammar } from '../../../grammar/grammar.ts';
import { callOpeners } from './calls.ts';
import type { Begins } from './format.ts';
import type { ReplyContext, ReplyPlan } from './reply-plan.ts';

interface ConstraintContext extends ReplyContext {
  endIds: readonly number[];
  /** Text before the reply that the grammar matches first. */
  matched: string;
  /** See Grammar.start. */
  opens: boolean;
}

/** Constraint of one choice; null: any token is allowed. */
export function createReplyConstraint(
  { tags, thinking, format, tools }: ReplyPlan,
  begins: Begins,
  grammar: Grammar | null,
  { tokenizer, endIds, matched, opens }: ConstraintContext,
): Constraint | null {
  const budget = thinking?.budget ?? null;
  if (tags === null || begins === 'closed' || begins === 'answer' || (grammar === null && budget === null))
    return grammar && withEngineErrors(() => grammar.start({ matched, opens }));
  const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });
  const { begin, end, gap = '', answer } = tags;
  const [endId, ...more] = encode(end);
  const line = gap.startsWith('\n') ? '\n' : '';
  // In channels another message follows; it must be the answer if the request has no tools.
  const next = format.channels && grammar === null && tools.mode === 'none' ? (answer?.begin ?? '') : '';
  const callMarks = tags.callsEnd && format.tools ? callOpeners(format.tools).map(encode) : [];
  return createThinkingConstraint({
    grammar: grammar && ((first) => grammar.start({ opens: first && opens })),
    begins,
    begin: encode(begin),
    isEnd: (id, tail) => (more.length === 0 ? id === endId : tail.includes(end)),
    textOf: (id) => tokenizer.tokenText(id),
    gap: gap === '' ? [] : encode(gap),
    close: encode(line + end + gap + next),
    budget,
    banned: [...endIds, ...callMarks.filter((ids) => ids.length === 1).flat()],
  });
}

export interface ThinkingRules {
  /**
   * Makes the grammar after the reasoning, or from the first token on without reasoning (`opens`); null: any text.
   */
  grammar: ((opens: boolean) => Constraint) | null;
  begins: Begins;
  /** Tokens of the opening tag. */
  begin: readonly number[];
  /** Whether a token ends the reasoning; `tail`: the last characters of the text, including the token's. */
  isEnd(id: number, tail: string): boolean;
  textOf(id: number): string;
  /** Tokens that must come between the end tag and the grammar. */
  gap: readonly number[];
  /** Tokens that end the reasoning, the gap included. */
  close: readonly number[];
  /** Maximum number of reasoning tokens; null: unlimited. */
  budget: number | null;
  /** Tokens that are not allowed in reasoning before a grammar: end tokens, and others that would end the reasoning. */
  banned: readonly number[];
}

/** Number of UTF-16 units of decoded text that are searched for an end tag. */
const TAIL = 64;

type Phase = 'start' | 'thinking' | 'grammar';

interface State {
  phase: Phase;
  grammar: Constraint | null;
  /** Tokens of the opening tag so far; null: the text does not begin with it. */
  opening: number | null;
  /** Whether the text so far matches the grammar. */
  matches: boolean;
  /** Number of reasoning tokens. */
  thought: number;
  tail: string;
  /** Tokens that must come next. */
  pending: readonly number[];
}

export function createThinkingConstraint(rules: ThinkingRules): Constraint {
  const { begins, grammar } = rules;
  const phase = { reasoning: 'thinking', closed: 'grammar', answer: 'grammar', undecided: 'start' } as const;
  return new ThinkingConstraint(rules, {
    phase: phase[begins],
    grammar: grammar?.(begins !== 'reasoning') ?? null,
    opening: 0,
    matches: true,
    thought: 0,
    tail: '',
    pending: [],
  });
}

class ThinkingConstraint implements Constraint {
  readonly #rules: ThinkingRules;
  readonly #state: State;

  constructor(rules: ThinkingRules, state: State) {
    this.#rules = rules;
    this.#state = state;
    const { phase, thought, pending } = state;
    const isSpent = rules.budget !== null && thought >= rules.budget;
    if (phase === 'thinking' && isSpent && pending.length === 0) this.#endReasoning();
  }

  mask(into: Uint32Array): boolean {
    const { phase, grammar, pending } = this.#state;
    if (pending.length > 0) {
      into.fill(0);
      allow(into, pending[0]!);
      return true;
    }
    if (grammar === null) return false;
    if (phase === 'grammar') return grammar.mask(into);
    if (phase === 'start') return this.#startMask(grammar, into);
    into.fill(0xffffffff);
    for (const id of this.#rules.banned) into[id >> 5]! &= ~(1 << (id & 31));
    return true;
  }

  accept(id: number): void {
    const state = this.#state;
    const { pending, phase } = state;
    if (pending.length > 0) {
      if (pending[0] !== id) throw new Error(`token ${pending[0]} must follow, and token ${id} was accepted`);
      state.pending = pending.slice(1);
    } else if (phase === 'thinking') this.#think(id);
    else if (phase === 'start') this.#decide(id);
    else state.grammar?.accept(id);
  }

  forced(): number[] {
    const { pending, phase, grammar } = this.#state;
    if (pending.length > 0) return [...pending];
    return phase === 'grammar' ? (grammar?.forced() ?? []) : [];
  }

  get ended(): boolean {
    const { pending, phase, grammar } = this.#state;
    return phase === 'grammar' && pending.length === 0 && (grammar?.ended ?? false);
  }

  get free(): boolean {
    const { pending, phase, grammar } = this.#state;
    return phase === 'grammar' && grammar === null && pending.length === 0;
  }

  fork(): Constraint {
    const grammar = this.#state.grammar?.fork() ?? null;
    return new ThinkingConstraint(this.#rules, { ...this.#state, grammar });
  }

  /** Allows the tokens of the grammar, and the next token of the opening tag. */
  #startMask(grammar: Constraint, into: Uint32Array): boolean {
    const { opening, matches } = this.#state;
    if (matches && !grammar.mask(into)) return false;
    if (!matches) into.fill(0);
    const next = opening === null ? undefined : this.#rules.begin[opening];
    if (next !== undefined) allow(into, next);
    return true;
  }

  #endReasoning(): void {
    this.#state.pending = this.#rules.close;
    this.#state.phase = 'grammar';
  }

  #think(id: number): void {
    const state = this.#state;
    const { budget, gap } = this.#rules;
    state.thought++;
    state.tail = (state.tail + this.#rules.textOf(id)).slice(-TAIL);
    if (this.#rules.isEnd(id, state.tail)) {
      state.phase = 'grammar';
      state.pending = state.grammar ? gap : [];
    } else if (budget !== null && state.thought >= budget) this.#endReasoning();
  }

  /** Accepts a token at the start, when both the opening tag and the grammar may match the text so far. */
  #decide(id: number): void {
    const state = this.#state;
    const { begin, budget } = this.#rules;
    const { grammar } = state;
    const opens = state.opening !== null && begin[state.opening] === id;
    const next = state.matches && grammar !== null ? after(grammar, id) : null;
    const fits = state.matches && (grammar === null || next !== null);
    state.grammar = next ?? grammar;
    if (!opens && !fits) throw new Error(`token ${id} neither opens the reasoning nor matches the grammar`);
    state.matches = fits;
    state.opening = opens ? state.opening! + 1 : null;
    if (state.opening === begin.length) {
      state.phase = 'thinking';
      state.grammar = this.#rules.grammar?.(false) ?? null;
      if (budget === 0) this.#endReasoning();
    } else if (!opens && (grammar !== null || this.#rules.textOf(id).trim() !== '')) state.phase = 'grammar';
    else if (!opens) state.opening = 0;
  }
}

/** The constraint after a token; null: the token is not allowed. */
function after(constraint: Constraint, id: number): Constraint | null {
  const next = constraint.fork();
  try {
    next.accept(id);
    return next;
  } catch {
    return null;
  }
}

function allow(into: Uint32Array, id: number): void {
  into[id >> 5]! |= 1 << (id & 31);
}
