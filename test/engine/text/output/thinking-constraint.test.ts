// Reasoning before a grammar. Tokens are letters: a to z are 0 to 25; < opens the reasoning, > ends it, $ ends the reply.

import { describe, expect, it } from 'vitest';
import type { Constraint } from '../../../../src/engine/text/calls/constraint.ts';
import {
  createThinkingConstraint,
  type ThinkingRules,
} from '../../../../src/engine/text/output/reply-constraint.ts';

const TOKENS = 'abcdefghijklmnopqrstuvwxyz<>$';
const idOf = (token: string): number => TOKENS.indexOf(token);

/** Allows exactly this text. */
function only(text: string, at = 0): Constraint {
  let place = at;
  const next = () => idOf(text[place] ?? '$');
  return {
    mask(into) {
      into.fill(0);
      into[0] = 1 << next();
      return true;
    },
    accept(id) {
      if (id !== next()) throw new Error(`refused ${TOKENS[id]}`);
      place++;
    },
    forced: () => [],
    get ended() {
      return place === text.length;
    },
    fork: () => only(text, place),
  };
}

function constraintOf(rules: Partial<ThinkingRules>): Constraint {
  return createThinkingConstraint({
    grammar: () => only('yes'),
    begins: 'undecided',
    begin: [idOf('<')],
    isEnd: (id) => id === idOf('>'),
    textOf: (id) => TOKENS[id]!,
    gap: [],
    close: [idOf('>')],
    budget: null,
    banned: [idOf('$')],
    ...rules,
  });
}

function allowed(constraint: Constraint): string {
  const mask = new Uint32Array(1);
  if (!constraint.mask(mask)) return 'all';
  return TOKENS.split('')
    .filter((_, id) => mask[0]! & (1 << id))
    .join('');
}

function say(constraint: Constraint, text: string): void {
  for (const token of text) constraint.accept(idOf(token));
}

const ALL_BUT_END = TOKENS.slice(0, -1);

describe('a grammar behind thinking', () => {
  it('begins where thinking ends, whatever was thought', () => {
    const constraint = constraintOf({ begins: 'reasoning' });
    expect(allowed(constraint)).toBe(ALL_BUT_END);
    say(constraint, 'no<yes');
    expect(constraint.ended).toBe(false);
    say(constraint, '>');
    expect(allowed(constraint)).toBe('y');
    say(constraint, 'yes');
    expect(constraint.ended).toBe(true);
    expect(() => constraintOf({ begins: 'answer' }).accept(idOf('n'))).toThrow('refused');
  });

  it('begins at once, or after thinking, as the first token decides', () => {
    expect(allowed(constraintOf({}))).toBe('y<');
    const atOnce = constraintOf({});
    say(atOnce, 'y');
    expect(allowed(atOnce)).toBe('e');
    const after = constraintOf({});
    say(after, '<y>');
    expect(allowed(after)).toBe('y');
    expect(() => say(constraintOf({}), 'n')).toThrow(/neither/);
  });

  it('begins alike with a tag of several tokens that shares its first with the grammar', () => {
    const rules = { begin: [idOf('y'), idOf('x')] };
    const constraint = constraintOf(rules);
    expect(allowed(constraint)).toBe('y');
    say(constraint, 'y');
    expect(allowed(constraint)).toBe('ex');
    const thinking = constraint.fork();
    say(constraint, 'es');
    expect(constraint.ended).toBe(true);
    say(thinking, 'xabc>');
    expect(allowed(thinking)).toBe('y');
  });

  it('waits for the gap, which is forced', () => {
    const constraint = constraintOf({ begins: 'reasoning', gap: [idOf('a'), idOf('b')] });
    say(constraint, 'q>');
    expect(constraint.forced()).toEqual([idOf('a'), idOf('b')]);
    expect(allowed(constraint)).toBe('a');
    expect(() => say(constraint.fork(), 'b')).toThrow(/must follow/);
    say(constraint, 'ab');
    expect(constraint.forced()).toEqual([]);
    expect(allowed(constraint)).toBe('y');
  });
});

describe('a budget for thinking', () => {
  const close = [idOf('>'), idOf('z')];

  it('ends thinking after so many tokens, without a grammar too', () => {
    const constraint = constraintOf({ begins: 'reasoning', grammar: null, budget: 2, close });
    say(constraint, 'a');
    expect(allowed(constraint)).toBe('all');
    expect(constraint.forced()).toEqual([]);
    say(constraint, 'b');
    expect(constraint.forced()).toEqual(close);
    expect(allowed(constraint)).toBe('>');
    say(constraint, '>z');
    expect(allowed(constraint)).toBe('all');
    say(constraint, 'abcdef');
    expect(constraint.forced()).toEqual([]);
    expect(constraint.ended).toBe(false);
  });

  it('of none ends it at once, wherever it begins', () => {
    expect(constraintOf({ begins: 'reasoning', budget: 0, close }).forced()).toEqual(close);
    const opened = constraintOf({ grammar: null, budget: 0, close });
    say(opened, '<');
    expect(opened.forced()).toEqual(close);
    const never = constraintOf({ grammar: null, budget: 0, close });
    say(never, 'ab<c');
    expect(never.forced()).toEqual([]);
  });

  it('is not spent where thinking ends before', () => {
    const constraint = constraintOf({ begins: 'reasoning', budget: 3, close });
    say(constraint, 'a>');
    expect(constraint.forced()).toEqual([]);
    expect(allowed(constraint)).toBe('y');
  });
});
