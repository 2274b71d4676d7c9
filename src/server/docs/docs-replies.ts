// The section on replies of the API page: the reply of each route, with all its members.

import { kindText, row, text } from './docs-rows.ts';
import type { JsonSchema, Operation } from './openapi.ts';

/** The reply of a route that succeeds, in words. */
export function givesText({ responses }: Operation): string {
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
