// A constraint whose rule is a hash of all tokens before: sometimes anything goes, sometimes a third of the tokens, sometimes one.

import type { Constraint } from '../../../src/engine/text/calls/constraint.ts';
import { PAPER_VOCABULARY, paperChoice, paperToken } from './paper-runner.ts';

export interface PaperRule {
  seed: number;
  /** Forces a token with a probability of one in `forcedIn`. */
  forcedIn: number;
  /** Number of tokens after which the constraint has ended. */
  length?: number;
  /** Number of tokens after which it allows everything. */
  freeAfter?: number;
}

/** Tokens that may follow; null: all of them. */
function allowedAfter(history: readonly number[], { seed, forcedIn, freeAfter }: PaperRule): number[] | null {
  if (history.length >= (freeAfter ?? Infinity)) return null;
  const hash = paperToken(history, seed ^ 0x5bd1e995);
  if (hash % forcedIn === 0) return [(hash * 7) % PAPER_VOCABULARY];
  if (hash % 3 === 0) return null;
  return Array.from({ length: PAPER_VOCABULARY }, (_, id) => id).filter((id) => id % 3 === hash % 3);
}

export function paperConstraint(rule: PaperRule, history: readonly number[] = []): Constraint {
  const taken = [...history];
  return {
    mask(into) {
      const allowed = allowedAfter(taken, rule);
      if (allowed === null) return false;
      into.fill(0);
      for (const id of allowed) into[id >> 5]! |= 1 << (id & 31);
      return true;
    },
    accept(id) {
      const allowed = allowedAfter(taken, rule);
      if (allowed && !allowed.includes(id)) throw new Error(`token ${id} is refused`);
      taken.push(id);
    },
    forced() {
      const run: number[] = [];
      const ahead = [...taken];
      for (let next = allowedAfter(ahead, rule); next?.length === 1; next = allowedAfter(ahead, rule)) {
        run.push(next[0]!);
        ahead.push(next[0]!);
        if (run.length === 5) break;
      }
      return run;
    },
    get ended() {
      return taken.length >= (rule.length ?? Infinity);
    },
    get free() {
      return taken.length >= (rule.freeAfter ?? Infinity);
    },
    fork: () => paperConstraint(rule, taken),
  };
}

/** Returns the tokens that a sequence generates alone under this rule. */
export function constrainedTokens(
  prompt: readonly number[],
  count: number,
  seed: number,
  rule: PaperRule,
): number[] {
  const taken: number[] = [];
  while (taken.length < count) {
    const free = paperToken([...prompt, ...taken], seed);
    const allowed = allowedAfter(taken, rule);
    const mask = new Uint32Array(Math.ceil(PAPER_VOCABULARY / 32));
    for (const id of allowed ?? []) mask[id >> 5]! |= 1 << (id & 31);
    taken.push(paperChoice(free, allowed && mask));
  }
  return taken;
}
