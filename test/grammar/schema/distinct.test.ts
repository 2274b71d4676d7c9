// Arrays of distinct elements of any kind: no two equal elements are written, every other array is, and no text is a dead end.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../src/grammar/grammar.ts';
import { DECLARED, ruleOfSchema, WHOLE } from '../../../src/grammar/schema/schema-rule.ts';
import { idsOf, pick, random, smallVocabulary } from '../small-vocabulary.ts';
import { accepts, grammarOf, nextBytes } from './judge.ts';

const distinct = (items: unknown, others: object = {}): object => ({
  type: 'array',
  ...(items !== undefined && { items }),
  uniqueItems: true,
  ...others,
});

const closed = (properties: object, required = Object.keys(properties)): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const flag = { type: 'boolean' };
const pair = closed({ a: flag, b: { enum: ['x', 'y'] } }, ['a']);
const list = { $ref: '#/$defs/list' };

test.each<[name: string, schema: object, right: string[], wrong: string[]]>([
  [
    'integers, however they are spelled',
    distinct({ type: 'integer' }),
    ['[]', '[1,2]', '[ 1, 12, 123 ]', '[10,1,100]', '[12345678901234567,1]'],
    ['[1,1]', '[1,1.0]', '[1,2,1]', '[0,-0]', '[12345678901234567,12345678901234568]'],
  ],
  [
    'numbers, however they are spelled',
    distinct({ type: 'number' }),
    ['[1.5,15,1.50001]', '[1e3,1]', '[10.50,10.05]', '[0.1,0.01]'],
    ['[1,10e-1]', '[1,1.0]', '[0,-0.0]', '[0.1,0.10]', '[1e3,2,1000]'],
  ],
  [
    'numbers beside strings',
    distinct({ type: ['number', 'string'] }),
    ['[1,"1"]', '["a","b",2]', '["é","e"]', '["","\\""]'],
    ['["a","\\u0061"]', '["1",1,"1"]', '["é","\\u00e9"]', '["\\n","\\u000a"]', '[2,"",2]'],
  ],
  [
    'objects, in any order and spacing',
    distinct(pair),
    [
      '[{"a":true},{"a":false}]',
      '[{"a":true},{"b":"x","a":true}]',
      '[{"b":"y","a":true}, {"b":"x","a":true}]',
    ],
    ['[{"a":true},{"a":true}]', '[{"a":true,"b":"x"},{"b": "x", "a":true}]'],
  ],
  [
    'nested arrays and objects',
    distinct({ type: 'array', items: closed({ n: { type: 'integer' } }) }),
    ['[[],[{"n":1}],[{"n":1},{"n":2}],[{"n":2},{"n":1}]]'],
    ['[[],[]]', '[[{"n":1},{"n":2}],[{"n":1}],[{"n":1.0}, {"n":2}]]'],
  ],
  [
    'arrays of distinct elements in them',
    distinct(distinct({ enum: [1, 2, [], {}] })),
    ['[[],[1,2],[2,1],[{},[]]]'],
    ['[[1,1]]', '[[1,2],[1, 2]]', '[[],[]]'],
  ],
  [
    'any values',
    distinct(undefined),
    ['[1,"1",true,"true",null,{},[],[[]],{"a":1},{"a":2,"b":[1]},{"b":[1],"a":3}]'],
    ['[{"a":2,"b":[1]},{"b":[1.0],"a":2}]', '[[],[]]', '[null,1,null]', '[{}, {}]'],
  ],
  [
    'recursive values',
    { $defs: { list: closed({ v: flag, next: list }, ['v']) }, ...distinct(list) },
    ['[{"v":true},{"v":true,"next":{"v":true}},{"next":{"v":false},"v":true}]'],
    ['[{"v":true,"next":{"v":true}},{"next":{"v":true},"v":true}]'],
  ],
  [
    'first elements of their own',
    distinct({ type: 'string' }, { prefixItems: [flag, flag], minItems: 2 }),
    ['[true,false]', '[false,true,"a","b"]'],
    ['[true,true]', '[true]', '[true,false,"a","a"]', '[true,false,true]'],
  ],
  [
    'strings with a long bound',
    distinct({ type: 'string', minLength: 1, maxLength: 2000 }),
    ['["a","b","ab"]', `["${'é'.repeat(200)}","${'é'.repeat(199)}"]`],
    ['["a","b","a"]', `["a","${'b'.repeat(2001)}"]`],
  ],
])('unique items of %s', (_name, schema, right, wrong) => {
  const grammar = grammarOf(schema);
  for (const text of right) expect([text, accepts(grammar, text)]).toEqual([text, true]);
  for (const text of wrong) expect([text, accepts(grammar, text)]).toEqual([text, false]);
});

/** What may follow a text, as characters; null among them: it may end. */
function after(grammar: Grammar, text: string): (string | null)[] {
  const constraint = grammar.start();
  for (const byte of new TextEncoder().encode(text)) constraint.accept(byte);
  return nextBytes(constraint).map((byte) => (byte === null ? null : String.fromCharCode(byte)));
}

describe('an array whose unique values run out', () => {
  const six = [
    '{"a":true}',
    '{"a":true,"b":"x"}',
    '{"a":true,"b":"y"}',
    '{"a":false}',
    '{"a":false,"b":"x"}',
  ];

  test('begins the last value only, and then ends', () => {
    const grammar = grammarOf(distinct(pair, { minItems: 6 }), DECLARED);
    const five = `[${six.join()}`;
    expect(after(grammar, five)).not.toContain(']');
    expect(after(grammar, `${five},{"a":`)).toEqual(expect.arrayContaining(['f', ' ']));
    expect(after(grammar, `${five},{"a":`)).not.toContain('t');
    expect(after(grammar, `${five},{"a":false`)).not.toContain('}');
    expect(after(grammar, `${five},{"a":false,"b":"`)).toEqual(['y']);
    const all = `${five},{"a":false,"b":"y"}`;
    expect(after(grammar, all)).not.toContain(',');
    expect(after(grammar, `${all}]`)).toEqual([null]);
  });

  test('continues a used number only to another one', () => {
    const grammar = grammarOf(distinct({ type: ['integer', 'array'], minimum: 1, maximum: 12, maxItems: 0 }));
    expect(after(grammar, '[1,1')).toEqual(expect.arrayContaining(['0', '1', '2']));
    expect(after(grammar, '[1,1')).not.toContain(',');
    expect(after(grammar, '[1,11,12,10,')).not.toContain('1');
    expect(after(grammar, '[2,')).toEqual(expect.arrayContaining(['1', '3']));
    expect(after(grammar, '[2,')).not.toContain('2');
  });

  test('leaves a number whose double is written in other digits before its last digit', () => {
    const grammar = grammarOf(distinct({ type: 'integer' }), DECLARED);
    const nines = '9'.repeat(20);
    // Each digit makes it the number that is read as 1e21.
    expect(after(grammar, `[${nines}9,${nines}`)).toEqual(['\n', ' ', ',', ']']);
    expect(after(grammar, `[5,1,4`)).toEqual(expect.arrayContaining([',', '9']));
  });

  test('leaves a used string of the greatest length before its last character', () => {
    const grammar = grammarOf(distinct({ type: 'string', pattern: '^a*$', maxLength: 1500 }));
    const most = 'a'.repeat(1500);
    expect(after(grammar, `["${most}","${'a'.repeat(1499)}`)).toEqual(['"']);
    expect(after(grammar, `["${most.slice(1)}","${'a'.repeat(1498)}`)).toContain('a');
    expect(after(grammar, `["${most.slice(1)}","${'a'.repeat(1499)}`)).not.toContain('"');
  });

  test.each<[schema: object, why: RegExp]>([
    [distinct(pair, { minItems: 7 }), /no value fulfils it/],
    [
      distinct(closed({ n: { type: 'integer', minimum: 1, maximum: 500 } }), { minItems: 101 }),
      /more than 100/,
    ],
    [distinct(undefined, { prefixItems: [flag, flag, flag], minItems: 3 }), /3 different elements/],
    [distinct({ type: 'object' }, { contains: { required: ['a'] } }), /beside contains/],
    [{ not: distinct({ type: 'object' }) }, /equal elements/],
  ])('is refused if it asks for more than there are: %j', (schema, why) => {
    expect(() => grammarOf(schema)).toThrow(why);
  });
});

const TOKENS = [
  ...['[1', '1,', ',1', '1,1', '2,', '],[', '"a"', '"a","', '","', 'a","b"', '","a"]', '1.0', '.0,', '0]'],
  ...[
    '[{"',
    '":',
    '{"a":',
    '"a":true',
    ':true}',
    'true},{"',
    '},{"a":true}',
    '"},',
    '"}]',
    ', {"',
    '\\u0061',
    'é',
  ],
];
const vocabulary = smallVocabulary(TOKENS);

/** Ends texts and numbers, and other bytes that the schemas below need. */
const USEFUL = new Set(Array.from('[]{}",:0123tfnaxyb', (one) => one.charCodeAt(0)));

describe('walks through masks of unique items', () => {
  const isInteger = { type: 'integer' };
  test.each<[name: string, schema: object]>([
    ['few objects, all of them', distinct(pair, { minItems: 6 })],
    ['few mixed values', distinct({ enum: [1, 10, 'a', [1], ['a'], { a: true }] }, { minItems: 5 })],
    ['numbers', distinct({ type: ['number', 'boolean'], minimum: 0 }, { minItems: 4 })],
    ['small pairs', distinct({ type: 'array', items: { enum: [1, 2] }, maxItems: 2 }, { minItems: 7 })],
    [
      'short strings and others',
      distinct({ type: ['string', 'array'], maxLength: 1, items: flag, maxItems: 1 }),
    ],
    ['objects of any kind', distinct({ type: ['object', 'null'], maxProperties: 1 }, { maxItems: 4 })],
    ['tuples', distinct(flag, { prefixItems: [{ type: ['boolean', 'array'], maxItems: 0 }, isInteger] })],
    ['sets of sets', distinct(distinct({ enum: [1, 2, 'a'] }, { maxItems: 2 }), { minItems: 5 })],
  ])('%s: each has exactly the tokens whose bytes lead on, and ends validly', (_name, schema) => {
    const isValid = new Ajv2020({ strict: false }).compile(schema);
    for (const reading of [DECLARED, WHOLE]) {
      const rule = ruleOfSchema(schema, { path: 'schema', reading });
      const grammar = new Grammar(compile(rule, vocabulary.available, limits()), vocabulary);
      for (let seed = 1; seed <= 3; seed++) {
        const text = walk(grammar, random(seed));
        expect({ text, valid: isValid(JSON.parse(text)) }).toEqual({ text, valid: true });
      }
    }
  });
});

type Matcher = ReturnType<Grammar['start']>;

function maskOf(matcher: Matcher): Set<number> {
  const bits = new Uint32Array(Math.ceil(vocabulary.size / 32));
  matcher.mask(bits);
  return new Set(idsOf(bits));
}

const byteToken = (byte: number): number => TOKENS.length + byte;

/** Whether the bytes of a token may follow one after the other. */
function leadsOn(matcher: Matcher, id: number): boolean {
  const fork = matcher.fork();
  return vocabulary.bytes(id, false).every((byte) => {
    const isAllowed = maskOf(fork).has(byteToken(byte));
    if (isAllowed) fork.accept(byteToken(byte));
    return isAllowed;
  });
}

function walk(grammar: Grammar, next: () => number): string {
  const matcher = grammar.start();
  const bytes: number[] = [];
  for (let step = 0; step < 300; step++) {
    const allowed = maskOf(matcher);
    const text = new TextDecoder().decode(Uint8Array.from(bytes));
    expect([text, allowed.size]).not.toEqual([text, 0]);
    for (let id = 0; id < TOKENS.length; id++)
      expect([text, TOKENS[id], allowed.has(id)]).toEqual([text, TOKENS[id], leadsOn(matcher, id)]);
    const useful = [...allowed].filter((id) => id < TOKENS.length || USEFUL.has(id - TOKENS.length));
    const closing = useful.filter((id) => '"}],'.includes(String.fromCharCode(id - TOKENS.length)));
    const isHurried = next() < 0.2 + step / 20;
    if (allowed.has(vocabulary.end)) return text;
    const id = pick(
      next,
      isHurried && closing.length > 0 ? closing : useful.length > 0 ? useful : [...allowed],
    );
    matcher.accept(id);
    bytes.push(...vocabulary.bytes(id, false));
  }
  throw new Error('no end');
}
