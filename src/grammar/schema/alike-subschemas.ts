// Finds subschemas that read the same, so that they become one term: a type that many branches declare then costs nothing where one of them
// excludes another.

import type { SchemaNode } from './document.ts';

/** Longest text by which subschemas are compared, in UTF-16 units, without punctuation. */
const MOST_COMPARED = 2_000;
/** Keywords by which other subschemas refer to one. */
const NAMING = /"(?:\$id|id|\$anchor|\$dynamicAnchor)":"/;

export class AlikeSubschemas {
  readonly #first = new Map<SchemaNode, SchemaNode>();
  readonly #byText = new Map<string, SchemaNode>();

  /** The first subschema of the same resource that reads as this one. */
  firstOf(node: SchemaNode): SchemaNode {
    const known = this.#first.get(node);
    if (known !== undefined || typeof node.value === 'boolean') return known ?? node;
    // Long ones are not written out: of schemas inside each other every level would be.
    const text = unitsLeft(node.keywords, MOST_COMPARED) < 0 ? null : JSON.stringify(node.keywords);
    const isOnlyItself = text === null || NAMING.test(text);
    const key = isOnlyItself ? node.path : `${node.resource.index} ${text}`;
    const first = this.#byText.get(key) ?? node;
    this.#byText.set(key, first);
    this.#first.set(node, first);
    return first;
  }
}

/** How many of `most` units the text of a JSON value leaves; negative where it is longer. Looks at no more of it than that takes. */
function unitsLeft(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return most - String(value).length;
  let left = most;
  if (Array.isArray(value)) {
    for (const member of value) if ((left = unitsLeft(member, left - 1)) < 0) break;
  } else {
    for (const [name, member] of Object.entries(value))
      if ((left = unitsLeft(member, left - name.length)) < 0) break;
  }
  return left;
}
