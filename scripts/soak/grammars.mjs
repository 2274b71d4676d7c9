// The constraints (regular expressions, grammars, JSON Schemas) that the soak requests, and the checks of the texts that come back.

import assert from 'node:assert/strict';
import Ajv from 'ajv/dist/2020.js';

const word = { type: 'string', maxLength: 12 };

export const SCHEMAS = [
  {
    type: 'object',
    properties: { name: word, age: { type: 'integer', minimum: 0, maximum: 120 } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
  { type: 'array', items: { enum: ['red', 'green', 'blue'] }, minItems: 1, maxItems: 4 },
  {
    type: 'object',
    properties: { kind: { const: 'fish' }, fins: { type: 'integer', multipleOf: 2, minimum: 0, maximum: 8 } },
    required: ['kind', 'fins'],
    additionalProperties: false,
  },
  { anyOf: [{ type: 'boolean' }, { type: 'null' }, { type: 'number', minimum: -1, maximum: 1 }] },
  { type: 'string', format: 'date' },
  { type: 'string', pattern: '^[a-c]{2,5}$' },
  {
    type: 'object',
    patternProperties: { '^x[0-9]$': { type: 'boolean' } },
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 3,
  },
  {
    $defs: {
      tree: {
        type: 'object',
        properties: {
          v: { type: 'integer', minimum: 0, maximum: 9 },
          kids: { type: 'array', items: { $ref: '#/$defs/tree' }, maxItems: 2 },
        },
        required: ['v'],
        additionalProperties: false,
      },
    },
    $ref: '#/$defs/tree',
  },
  {
    type: 'array',
    prefixItems: [{ type: 'integer', minimum: 1, maximum: 12 }, word],
    items: false,
    minItems: 2,
  },
  {
    oneOf: [
      { type: 'integer', minimum: 0, maximum: 50 },
      { type: 'string', enum: ['none'] },
    ],
  },
];

const ajv = new Ajv({ strict: false, validateFormats: false });
const validators = new Map();

/** The value of a text that must be JSON under a schema. */
export function checkJson(text, schema) {
  const value = JSON.parse(text);
  const validate = validators.get(schema) ?? ajv.compile(schema);
  validators.set(schema, validate);
  assert.ok(
    validate(value),
    `${text} does not fit ${JSON.stringify(schema)}: ${ajv.errorsText(validate.errors)}`,
  );
  return value;
}

export const REGEXES = [
  '[0-9]{3}-[0-9]{4}',
  '(yes|no|maybe)( [a-z]{1,6}){0,3}',
  '[A-Z][a-z]+(, [A-Z][a-z]+)*\\.',
  '\\d+(\\.\\d{1,3})? (kg|m|s)',
];

/** A grammar, and what its texts look like. */
export const EBNFS = [
  [
    'root ::= greeting " " name "."\ngreeting ::= "Hello" | "Good day"\nname ::= [A-Z] [a-z]{1,8}',
    /^(Hello|Good day) [A-Z][a-z]{1,8}\.$/,
  ],
  ['root ::= term (("+" | "-") term)*\nterm ::= [0-9]{1,2} | "(" root ")"', /^[0-9+\-()]+$/],
  ['root ::= "a" root "b" | "c"', /^(a*)c(b*)$/],
];

/** Where "e" occurs, a number in brackets follows. */
export const STRUCTURE = {
  type: 'structural_tag',
  structures: [{ begin: 'e[', schema: { type: 'integer', minimum: 0, maximum: 99 }, end: ']' }],
  triggers: ['e'],
};

export function checkStructure(text) {
  const outside = text.replaceAll(/e\[([^\]]*)\]/g, (_, inner) => {
    const value = JSON.parse(inner);
    assert.ok(Number.isInteger(value) && value >= 0 && value <= 99, inner);
    return '';
  });
  assert.ok(!outside.includes('e'), `${JSON.stringify(text)} has a trigger without its structure`);
}

const parameters = (properties) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

export const TOOLS = [
  ['get_weather', 'Weather of a city', parameters({ city: word, unit: { enum: ['C', 'F'] } })],
  [
    'add',
    'Adds two numbers',
    parameters({
      a: { type: 'integer', minimum: 0, maximum: 99 },
      b: { type: 'integer', minimum: 0, maximum: 99 },
    }),
  ],
  ['lights', 'Switches lights', parameters({ on: { type: 'boolean' } })],
].map(([name, description, schema]) => ({
  type: 'function',
  function: { name, description, parameters: schema, strict: true },
}));

export function checkCalls(calls, names = TOOLS.map((tool) => tool.function.name)) {
  for (const { id, function: called } of calls) {
    assert.ok(id && names.includes(called.name), `a call of ${called.name}`);
    checkJson(called.arguments, TOOLS.find((tool) => tool.function.name === called.name).function.parameters);
  }
}
