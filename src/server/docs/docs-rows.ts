// Values as table rows of the API page, each with its name, its kind and its description, and the replies of routes with all their members.

import type { JsonSchema, ApiOperation } from './openapi.ts';

/** `note`: HTML beside the name. */
export function row(name: string, schema: JsonSchema, note = ''): string {
  const status = schema['x-svc-status'] ?? 'honoured';
  const fallback =
    schema['default'] === undefined
      ? ''
      : `<i>default</i> <code>${text(JSON.stringify(schema['default']))}</code>`;
  return `<tr class="${status}"><td><code>${text(name)}</code>${note}</td><td>${kindText(schema)} ${fallback}</td><td>${text(schema.description ?? '')}</td></tr>`;
}

/** The kind of a value in words, with links to the schemas that they name. */
export const kindText = (schema: JsonSchema): string =>
  text(kindOf(schema)).replace(/#(\w+)/g, '<a href="#$1">$1</a>');

/** The kind of a value in a few words; # precedes the name of a schema. */
function kindOf(schema: JsonSchema): string {
  const {
    type,
    enum: values,
    anyOf,
    oneOf,
    $ref,
    items,
    const: only,
  } = schema as {
    type?: string | string[];
    enum?: unknown[];
    anyOf?: JsonSchema[];
    oneOf?: JsonSchema[];
    $ref?: string;
    items?: JsonSchema;
    const?: unknown;
  };
  if ($ref) return `#${$ref.slice($ref.lastIndexOf('/') + 1)}`;
  if (only !== undefined) return JSON.stringify(only);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  const options = anyOf ?? oneOf;
  if (options) return [...new Set(options.map(kindOf))].join(' | ');
  if (type === 'array') return `list of ${items ? kindOf(items) : 'anything'}`;
  if (type === undefined) return 'anything';
  const bounds = [
    ['≥', schema['minimum']],
    ['>', schema['exclusiveMinimum']],
    ['≤', schema['maximum']],
  ]
    // Bounds at the limits of exact integers are left out, because every integer has them.
    .filter(([, bound]) => typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER)
    .map(([sign, bound]) => `${String(sign)} ${String(bound)}`);
  return [[type].flat().join(' | '), ...bounds].join(' ');
}

export function text(value: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return value.replace(/[&<>"]/g, (sign) => names[sign]!);
}

/** The reply of a route that succeeds, in words. */
export function givesText({ responses }: ApiOperation): string {
  const gives = Object.entries(responses[200]?.content ?? {}).map(([type, { schema }]) => {
    const { description, ...kind } = schema;
    return schema.$ref === undefined
      ? text(type)
      : `${kindText(kind)} as ${text(type)}${description === undefined ? '' : `: ${text(description)}`}`;
  });
  return gives.length > 0 ? `<p class="gives">Gives ${gives.join(', or ')}</p>` : '';
}

export function repliesSection(schemas: Record<string, JsonSchema>): string {
  const parts = Object.entries(schemas)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, schema]) => {
      const rows = memberRows(schema, '');
      const table =
        rows === ''
          ? ''
          : `<table><thead><tr><th>Member</th><th>Value</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
      return `<details id="${name}"><summary><code>${name}</code><span>${kindText(schema)}. ${text(schema.description ?? '')}</span></summary>${table}</details>`;
    });
  return `<section><h2>Replies</h2>${parts.join('')}</section>`;
}

const OR = '<tr><td colspan="3"><i>or</i></td></tr>';

/** Table rows of a schema's members; nested members follow their parent, with its name as a prefix. */
function memberRows(schema: JsonSchema, path: string): string {
  const {
    anyOf = [],
    oneOf = anyOf,
    items,
    properties = {},
    required = [],
  } = schema as {
    anyOf?: JsonSchema[];
    oneOf?: JsonSchema[];
    items?: JsonSchema;
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  if (items) return memberRows(items, `${path}[]`);
  if (oneOf.length > 0)
    return oneOf
      .map((option) => memberRows(option, path))
      .filter(Boolean)
      .join(OR);
  const rows = Object.entries(properties).map(([name, member]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return row(at, member, required.includes(name) ? '' : ' <i>not always</i>') + memberRows(member, at);
  });
  return rows.join('');
}
