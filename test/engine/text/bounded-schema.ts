// Random schemas in common styles whose instances are all short, so that a generated text ends.

import { pick } from '../../grammar/small-vocabulary.ts';

type Next = () => number;
type Schema = Record<string, unknown>;

const KINDS = [
  'enum',
  'string',
  'code',
  'date',
  'integer',
  'number',
  'boolean',
  'nullable',
  'list',
  'choice',
  'object',
];
const CODES = ['^[A-Z]{3}-\\d{2}$', '^(north|south) (east|west)$', '^#[0-9a-f]{6}$', '^\\w+@\\w+\\.org$'];
const NAMES = ['name', 'kind', 'size', 'since', 'parts', 'owner', 'is open', 'größe'];

const below = (next: Next, count: number): number => Math.floor(next() * count);

/** An object of one to four members, `depth` objects deep at most. */
export function boundedObject(next: Next, depth: number): Schema {
  const names = NAMES.filter(() => next() < 0.4).slice(0, 4);
  if (names.length === 0) names.push('name');
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, boundedValue(next, depth - 1)])),
    required: names.filter(() => next() < 0.7),
    additionalProperties: false,
  };
}

function boundedValue(next: Next, depth: number): Schema {
  switch (pick(next, depth > 0 ? KINDS : KINDS.slice(0, -3))) {
    case 'enum':
      return { enum: ['old', 'new', 'very "big"', 4, null].filter(() => next() < 0.5).concat('old') };
    case 'string':
      return { type: 'string', minLength: below(next, 3), maxLength: 3 + below(next, 12) };
    case 'code':
      return { type: 'string', pattern: pick(next, CODES), maxLength: 20 };
    case 'date':
      return { type: 'string', format: pick(next, ['date', 'ipv4']), maxLength: 40 };
    case 'integer':
      return { type: 'integer', minimum: -below(next, 900), exclusiveMaximum: 1 + below(next, 3000) };
    case 'number':
      return {
        type: 'number',
        minimum: 0,
        maximum: 1 + below(next, 90),
        multipleOf: pick(next, [0.5, 0.25, 5]),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'nullable':
      return { type: ['integer', 'null'], minimum: 0, maximum: 9 };
    case 'list':
      return { type: 'array', items: boundedValue(next, depth - 1), minItems: below(next, 2), maxItems: 3 };
    case 'choice':
      return { [pick(next, ['anyOf', 'oneOf'])]: [boundedObject(next, depth - 1), { type: 'null' }] };
    default:
      return boundedObject(next, depth);
  }
}
