// The JSON-Schema-Test-Suite. Read as the whole language of a schema, it is enforced on all its instances, or refused. Read as declared, no
// invalid instance is allowed, and every valid one is whose properties are declared and in order.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { GrammarError } from '../../../src/grammar/bounds/grammar-error.ts';
import { DECLARED } from '../../../src/grammar/schema/schema-rule.ts';
import { accepts, grammarOf, reversed } from './judge.ts';

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

/** Refused schemas and the reasons. Any other refusal fails the test, and so does a listed schema that works. */
type Refused = Record<string, RegExp>;

const REFUSED: Refused = {
  'defs: validate definition against metaschema': /leaves the document/,
  'dynamicRef: strict-tree schema, guards against misspelled properties': /leaves the document/,
  'dynamicRef: tests for implementation dynamic anchor and reference link': /leaves the document/,
  'dynamicRef: $ref and $dynamicAnchor are independent of order - $defs first': /leaves the document/,
  'dynamicRef: $ref and $dynamicAnchor are independent of order - $ref first': /leaves the document/,
  'dynamicRef: $ref to $dynamicRef finds detached $dynamicAnchor': /leaves the document/,
  'ref: remote ref, containing refs itself': /leaves the document/,
  'vocabulary: schema that uses custom metaschema with with no validation vocabulary': /not a draft/,
  'vocabulary: ignore unrecognized optional vocabulary': /not a draft/,
  'multipleOf: float division = inf': /remainders/,
};

const REFUSED_OF_DRAFT_7: Refused = {
  'ref: remote ref, containing refs itself': /leaves the document/,
  'definitions: validate definition against metaschema': /leaves the document/,
};

/** Returns the number of tests that a schema passes, or the reason for its refusal. */
function judge({ schema, tests }: Group): number | string {
  let grammar;
  try {
    grammar = grammarOf(schema);
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    expect(error.code).toBe('bad_request');
    if (!error.message.includes('no value fulfils it')) return error.message;
    expect(tests.filter(({ valid }) => valid)).toEqual([]);
    return tests.length;
  }
  for (const { data, valid, description } of tests) {
    const texts = [JSON.stringify(data), JSON.stringify(reversed(data)), JSON.stringify(data, null, 2)];
    for (const text of new Set(texts)) {
      expect({ description, text, accepted: accepts(grammar, text) }).toEqual({
        description,
        text,
        accepted: valid,
      });
    }
  }
  return tests.length;
}

interface Allowed {
  allowed: number;
  all: number;
  /** The valid instances that are not allowed. */
  others: string[];
}

/** Valid instances that have undeclared properties, or declared ones in another order. All other valid instances are allowed. */
const UNDECLARED = [
  'additionalProperties: additional properties are allowed',
  'allOf: allOf',
  'allOf: valid',
  'anyOf: both anyOf valid (complex)', // properties of two branches
  'const: same object with different property order is valid',
  'dependentSchemas: matches dependency',
  'dependentSchemas: no dependency',
  "dynamicRef: The recursive part doesn't need to validate against the root",
  'not: property absent',
  'patternProperties: non recognized members are ignored',
  'patternProperties: regexes are case sensitive',
  'patternProperties: Non-letter property name does not match pattern',
  "properties: doesn't invalidate other properties",
];
const UNDECLARED_OF_DRAFT_7 = ['dependencies: matches dependency', 'dependencies: no dependency'];

/** Counts the valid instances, and those of them that the schema allows in the order of its properties and without others. */
function judgeDeclared(keyword: string, { schema, tests }: Group, count: Allowed): void {
  if (tests.every(({ valid }) => !valid)) return; // perhaps no value fulfils it
  const grammar = grammarOf(schema, DECLARED);
  for (const { data, valid, description } of tests) {
    const text = JSON.stringify(data);
    const accepted = accepts(grammar, text);
    if (!valid || !text.includes('{'))
      expect({ description, text, accepted }).toMatchObject({ accepted: valid });
    if (!valid) continue;
    count.all++;
    if (accepted) count.allowed++;
    else count.others.push(`${keyword}: ${description}`);
  }
}

describe.each([
  { draft: 'draft2020-12', known: REFUSED, least: 0.93, undeclared: UNDECLARED },
  // Tests that are not in the suite for 2020-12 word for word.
  { draft: 'draft7', known: REFUSED_OF_DRAFT_7, least: 0.9, undeclared: UNDECLARED_OF_DRAFT_7 },
])('the JSON Schema test suite, $draft', ({ draft, known, least, undeclared }) => {
  const file = new URL(`../../golden/json-schema/${draft}.json`, import.meta.url);
  const suite = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Group[]>;
  const valid: Allowed = { allowed: 0, all: 0, others: [] };
  let enforced = 0;
  let all = 0;
  const refused: string[] = [];

  for (const [keyword, groups] of Object.entries(suite)) {
    test(keyword, () => {
      for (const group of groups) {
        const name = `${keyword}: ${group.description}`;
        const judged = judge(group);
        all += group.tests.length;
        if (typeof judged === 'number') {
          enforced += judged;
          judgeDeclared(keyword, group, valid);
        } else {
          refused.push(name);
          expect(judged).toMatch(known[name] ?? `${name} not to be refused`);
        }
      }
    });
  }

  test('has this share enforced', () => {
    const share = enforced / all;
    console.log(
      `JSON-Schema-Test-Suite, ${draft}: ${enforced} of ${all} tests enforced, ${(100 * share).toFixed(1)} %`,
    );
    console.log(`Read as declared, ${valid.allowed} of ${valid.all} valid instances are allowed.`);
    expect(valid.others).toEqual(undeclared);
    expect(valid.all).toBeGreaterThan(70);
    expect(refused.toSorted()).toEqual(Object.keys(known).toSorted());
    expect(share).toBeGreaterThan(least);
  });
});
