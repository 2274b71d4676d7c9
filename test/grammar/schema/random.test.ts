// Random schemas: every text that the mask allows is valid, and of similar values exactly the valid ones are allowed where the whole language
// is read. ajv judges.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { GrammarError } from '../../../src/grammar/bounds/grammar-error.ts';
import { DECLARED } from '../../../src/grammar/schema/schema-rule.ts';
import { pick, random } from '../small-vocabulary.ts';
import { accepts, grammarOf, nextBytes } from './judge.ts';
import type { Constraint } from '../../../src/engine/text/calls/constraint.ts';
import { mutated, NAMES, randomSchema, randomValue, WORDS } from './random-schema.ts';
import type { Grammar } from '../../../src/grammar/grammar.ts';

const SCHEMAS = 48;
const WALKS = 4;
const NEAR = 12;
/** Number of bytes after which a walk ends as soon as possible. */
const LONG = 120;
const MOST_BYTES = 20_000;

/** null: it refers to itself for the same value, which ajv follows for ever. */
function validator(schema: object): ((value: unknown) => unknown) | null {
  try {
    return new Ajv2020({ strict: false, validateSchema: false }).compile(schema);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Returns a text of random allowed bytes, with whole words now and then, which random bytes would hardly produce. */
function walk(grammar: Grammar, next: () => number): string {
  const constraint = grammar.start();
  const bytes: number[] = [];
  const take = (byte: number): void => {
    constraint.accept(byte);
    bytes.push(byte);
  };
  while (bytes.length < MOST_BYTES) {
    const allowed = nextBytes(constraint);
    expect(allowed.length).toBeGreaterThan(0);
    const hurry = bytes.length > LONG || next() < 0.15;
    const word = Array.from(utf8.encode(JSON.stringify(pick(next, [...NAMES, ...WORDS]))));
    if (allowed.includes(QUOTE) && (hurry || next() < 0.5) && fits(constraint, word)) {
      word.forEach(take);
      continue;
    }
    const ways = WAYS_OUT.filter((byte) => allowed.includes(byte));
    const byte = pick(next, hurry && ways.length > 0 ? ways : allowed);
    if (byte === null) return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
    take(byte);
  }
  throw new Error(`no end after ${MOST_BYTES} bytes`);
}

function fits(constraint: Constraint, word: readonly number[]): boolean {
  const fork = constraint.fork();
  return word.every((byte) => {
    const allowed = nextBytes(fork).includes(byte);
    if (allowed) fork.accept(byte);
    return allowed;
  });
}

const utf8 = new TextEncoder();
const QUOTE = 0x22;

/** The end, closing characters, and the characters that patterns require. */
const WAYS_OUT = [null, ...Array.from('}],"0nab1', (character) => character.charCodeAt(0))];

test(`${SCHEMAS} random schemas agree with ajv`, { timeout: 600_000 }, () => {
  let enforced = 0;
  let empty = 0;
  const refusals = new Map<string, number>();
  for (let seed = 1; seed <= SCHEMAS; seed++) {
    const next = random(seed * 7919);
    for (let i = 0; i < 5; i++) next();
    const names = ['one', 'two'];
    const definitions = Object.fromEntries(names.map((name) => [name, randomSchema(next, 1, names)]));
    const schema = { $defs: definitions, allOf: [randomSchema(next, 2, names)] };
    const isValid = validator(schema);
    if (isValid === null) continue;
    const near: unknown[] = Array.from({ length: NEAR }, () => randomValue(next, 2));
    let grammar: Grammar;
    try {
      grammar = grammarOf(schema);
    } catch (error) {
      if (!(error instanceof GrammarError) || error.code !== 'bad_request') throw error;
      if (!error.message.includes('no value fulfils it')) {
        const why = error.message.replace(/^[^:]*: /, '').replace(/[\d"].*/, '');
        refusals.set(why, (refusals.get(why) ?? 0) + 1);
        continue;
      }
      empty++;
      for (const value of near)
        expect({ seed, schema, value, valid: isValid(value) }).toMatchObject({ valid: false });
      continue;
    }
    enforced++;
    const declared = grammarOf(schema, DECLARED);
    for (let i = 0; i < WALKS; i++) {
      const text = walk(declared, next);
      expect({ seed, schema, text, valid: isValid(JSON.parse(text)) }).toMatchObject({ valid: true });
    }
    for (let i = 0; i < WALKS; i++) {
      const text = walk(grammar, next);
      const value: unknown = JSON.parse(text);
      expect({ seed, schema, text, valid: isValid(value) }).toEqual({ seed, schema, text, valid: true });
      near.push(value, mutated(next, value), mutated(next, value), mutated(next, mutated(next, value)));
    }
    for (const value of near) {
      const [text, valid] = [JSON.stringify(value), isValid(value)];
      expect({ seed, schema, text, valid: accepts(grammar, text) }).toEqual({ seed, schema, text, valid });
    }
  }
  console.log(
    `random schemas: ${enforced} enforced, ${empty} fulfilled by nothing, refused:`,
    Object.fromEntries(refusals),
  );
  expect(enforced).toBeGreaterThan(0.7 * SCHEMAS);
});
