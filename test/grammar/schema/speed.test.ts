// Cost of compiling schemas on which grammar engines are slow, in milliseconds of processor time.

import { expect, test } from 'vitest';
import { compile } from '../../../src/grammar/compile/compile.ts';
import { limits } from '../../../src/grammar/automata/dfa.ts';
import { ruleOfSchema } from '../../../src/grammar/schema/schema-rule.ts';

const strict = (properties: Record<string, unknown>, required = Object.keys(properties)): object => ({
  ...{ type: 'object', properties, required, additionalProperties: false },
});
const tool = (i: number): object =>
  strict({
    name: { const: `tool_${i}` },
    arguments: strict(
      {
        place: { type: 'string' },
        unit: { enum: ['c', 'f'] },
        days: { type: 'integer', minimum: 1, maximum: 14 },
      },
      ['place'],
    ),
  });

const SCHEMAS: Record<string, unknown> = {
  'two fields': strict({ name: { type: 'string' }, age: { type: 'integer' } }),
  'nested, recursive, uuid, date-time, maxLength 100': {
    $defs: {
      node: strict(
        {
          id: { type: 'string', format: 'uuid' },
          at: { type: 'string', format: 'date-time' },
          title: { type: 'string', maxLength: 100 },
          children: { type: 'array', items: { $ref: '#/$defs/node' } },
        },
        ['id', 'title'],
      ),
    },
    $ref: '#/$defs/node',
  },
  'maxLength 2000': strict({ text: { type: 'string', maxLength: 2000 } }),
  'pattern and maxLength 2000': { type: 'string', pattern: '^[a-z]+( [a-z]+)*$', maxLength: 2000 },
  '60 optional properties': strict(
    Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`field_${i}`, { type: ['string', 'null'] }])),
    [],
  ),
  'enum of 300': { enum: Array.from({ length: 300 }, (_, i) => `value number ${i}`) },
  '8 tools': { anyOf: Array.from({ length: 8 }, (_, i) => tool(i)) },
  '8 tools under oneOf': { oneOf: Array.from({ length: 8 }, (_, i) => tool(i)) },
  '20 numbers in ranges': strict(
    Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`n${i}`, { type: 'number', minimum: i, maximum: 10 * i + 0.5 }]),
    ),
  ),
};

function milliseconds(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

test('schemas compile in milliseconds', { timeout: 120_000 }, () => {
  const available = new Uint8Array(256).fill(1);
  for (const [name, schema] of Object.entries(SCHEMAS)) {
    // The minimum of several runs, because the first includes the compilation of JavaScript.
    const runs = Array.from({ length: 5 }, () => {
      const start = ruleOfSchema(schema, { path: 'schema' });
      return {
        rule: milliseconds(() => ruleOfSchema(schema, { path: 'schema' })),
        program: milliseconds(() => compile(start, available, limits())),
      };
    });
    const [rule, program] = (['rule', 'program'] as const).map((part) =>
      Math.min(...runs.map((run) => run[part])),
    );
    console.log(`${name}: rule ${rule!.toFixed(1)} ms, program ${program!.toFixed(1)} ms`);
    expect(rule).toBeLessThan(300);
  }
});
