// Checks texts against masks and generates texts from masks, over one small vocabulary with the usual pieces of JSON.

import { expect } from 'vitest';
import { compile } from '../../src/grammar/compile/compile.ts';
import { limits } from '../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../src/grammar/grammar.ts';
import { compileConstraint } from './compile-constraint.ts';
import type { Rule } from '../../src/grammar/rules/rule.ts';
import type { TextConstraint } from '../../src/grammar/text-constraint.ts';
import { idsOf, pick, random, smallVocabulary } from './small-vocabulary.ts';

const WORDS = [
  'true',
  'false',
  'null',
  '{"',
  '":',
  '": ',
  '", "',
  '"}',
  '},',
  '[{',
  '}]',
  ' "',
  ': ',
  ',"',
  '10',
  '\\u00',
  'é',
  '\\n',
  'name',
  'na',
  '"a"',
  '```',
  '<f',
  '</f>',
];
export const vocabulary = smallVocabulary(WORDS);
const utf8 = new TextEncoder();

export const grammarOf = (rule: Rule): Grammar =>
  new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
export const grammarFor = (constraint: TextConstraint): Grammar =>
  new Grammar(compileConstraint(constraint, vocabulary.available), vocabulary);
const maskOf = (constraint: ReturnType<Grammar['start']>): number[] => {
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  constraint.mask(bits);
  return idsOf(bits);
};

/** Returns true if the mask allows the text, divided into random tokens. */
export function takes(grammar: Grammar, whole: string, next: () => number = random(whole.length)): boolean {
  const bytes = utf8.encode(whole);
  const constraint = grammar.start();
  for (let at = 0; at < bytes.length;) {
    const fits = maskOf(constraint).filter((id) => {
      const token = vocabulary.bytes(id, false);
      return token.length > 0 && token.every((byte, i) => bytes[at + i] === byte);
    });
    if (fits.length === 0) return false;
    const id = pick(next, fits);
    for (const other of fits) constraint.fork().accept(other);
    constraint.accept(id);
    at += vocabulary.bytes(id, false).length;
  }
  return maskOf(constraint).includes(vocabulary.end);
}

/** Generates a text by a random walk through the mask that ends soon. */
export function walk(grammar: Grammar, next: () => number): string {
  const constraint = grammar.start();
  const bytes: number[] = [];
  const closing = new Set(Array.from('"}]0,:', (character) => WORDS.length + character.charCodeAt(0)));
  for (let step = 0; step < 4000; step++) {
    const forced = constraint.forced();
    const allowed = maskOf(constraint);
    if (forced.length > 0) expect(allowed).toContain(forced[0]);
    if (allowed.includes(vocabulary.end) && next() < 0.5)
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    const closers = allowed.filter((id) => closing.has(id));
    const id = closers.length > 0 && next() < 0.5 + step / 400 ? pick(next, closers) : pick(next, allowed);
    if (id === vocabulary.end)
      return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    constraint.accept(id);
    bytes.push(...vocabulary.bytes(id, false));
  }
  throw new Error(`no end: ${new TextDecoder().decode(Uint8Array.from(bytes)).slice(0, 200)}`);
}
