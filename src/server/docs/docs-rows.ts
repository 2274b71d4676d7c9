// A value as a table row of the API page: its name, its kind, its description.

import type { JsonSchema } from './openapi.ts';

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
