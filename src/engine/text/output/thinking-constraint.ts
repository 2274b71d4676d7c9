// Reasoning before a grammar: while a model thinks it may say anything, and the grammar begins behind the end of its thinking.
// A budget ends the thinking when it is spent. Where the model may think or not, its first tokens decide.

import type { Constraint } from '../constraint.ts';
import type { Begins } from './reply-start.ts';

export interface ThinkingRules {
  /** What the reply may be behind the thinking, or without it from its first token on (`opens`); null: anything. */
  grammar: ((opens: boolean) => Constraint) | null;
  begins: Begins;
  /** Tokens of the opening tag. */
  begin: readonly number[];
  /** Whether this token ends the thinking; `tail` is the text of the last ones, its own included. */
  isEnd(id: number, tail: string): boolean;
  textOf(id: number): string;
  /** Tokens that must follow the end before the grammar begins. */
  gap: readonly number[];
  /** Tokens that end the thinking, gap included. */
  close: readonly number[];
  /** Most tokens of thinking; null: any number. */
  budget: number | null;
  /** Not allowed while it thinks, where a grammar follows: end tokens, and what would end the thinking otherwise. */
  banned: readonly number[];
}

/** Of decoded text, as much as an end tag could be part of. */
const TAIL = 64;

type Phase = 'start' | 'thinking' | 'grammar';

interface State {
  phase: Phase;
  grammar: Constraint | null;
  /** Tokens of the opening tag so far; null: it is not that. */
  opening: number | null;
  /** What was said is of the grammar. */
  matches: boolean;
  thought: number;
  tail: string;
  pending: readonly number[];
}

export function createThinkingConstraint(rules: ThinkingRules): Constraint {
  const { begins, grammar } = rules;
  const phase = { reasoning: 'thinking', closed: 'grammar', answer: 'grammar', undecided: 'start' } as const;
  const state: State = {
    phase: phase[begins],
    grammar: grammar?.(begins !== 'reasoning') ?? null,
    opening: 0,
    matches: true,
    thought: 0,
    tail: '',
    pending: [],
  };
  return withState(rules, state);
}

function withState(rules: ThinkingRules, state: State): Constraint {
  const { begin, budget, banned, gap, close } = rules;
  if (state.phase === 'thinking' && budget !== null && state.thought >= budget && state.pending.length === 0)
    endNow();

  function endNow(): void {
    state.pending = close;
    state.phase = 'grammar';
  }

  function think(id: number): void {
    state.thought++;
    state.tail = (state.tail + rules.textOf(id)).slice(-TAIL);
    if (rules.isEnd(id, state.tail)) {
      state.phase = 'grammar';
      state.pending = state.grammar ? gap : [];
    } else if (budget !== null && state.thought >= budget) endNow();
  }

  /** The first tokens: those of the tag, those of the grammar, or both as yet. */
  function decide(id: number): void {
    const { grammar } = state;
    const opens = state.opening !== null && begin[state.opening] === id;
    const taken = state.matches && grammar !== null ? taking(grammar, id) : null;
    const fits = state.matches && (grammar === null || taken !== null);
    state.grammar = taken ?? grammar;
    if (!opens && !fits) throw new Error(`token ${id} neither opens the reasoning nor matches the grammar`);
    state.matches = fits;
    state.opening = opens ? state.opening! + 1 : null;
    if (state.opening === begin.length) {
      state.phase = 'thinking';
      state.grammar = rules.grammar?.(false) ?? null;
      if (budget === 0) endNow();
    } else if (!opens && (grammar !== null || rules.textOf(id).trim() !== '')) state.phase = 'grammar';
    else if (!opens) state.opening = 0;
  }

  return {
    mask(into) {
      const { phase, grammar, pending, opening, matches } = state;
      if (pending.length > 0) {
        into.fill(0);
        allow(into, pending[0]!);
        return true;
      }
      if (grammar === null) return false;
      if (phase === 'grammar') return grammar.mask(into);
      if (phase === 'thinking') {
        into.fill(0xffffffff);
        for (const id of banned) into[id >> 5]! &= ~(1 << (id & 31));
        return true;
      }
      if (matches && !grammar.mask(into)) return false;
      if (!matches) into.fill(0);
      const next = opening === null ? undefined : begin[opening];
      if (next !== undefined) allow(into, next);
      return true;
    },
    accept(id) {
      const { pending, phase } = state;
      if (pending.length > 0) {
        if (pending[0] !== id) throw new Error(`token ${id} where ${pending[0]} must follow`);
        state.pending = pending.slice(1);
      } else if (phase === 'thinking') think(id);
      else if (phase === 'start') decide(id);
      else state.grammar?.accept(id);
    },
    forced() {
      if (state.pending.length > 0) return [...state.pending];
      return state.phase === 'grammar' ? (state.grammar?.forced() ?? []) : [];
    },
    get ended() {
      return state.phase === 'grammar' && state.pending.length === 0 && (state.grammar?.ended ?? false);
    },
    get free() {
      return state.phase === 'grammar' && state.grammar === null && state.pending.length === 0;
    },
    fork: () => withState(rules, { ...state, grammar: state.grammar?.fork() ?? null }),
  };
}

/** The constraint behind that token; null: it refuses it. */
function taking(constraint: Constraint, id: number): Constraint | null {
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
