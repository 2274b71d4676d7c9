// Finds subschemas that read the same, so that they become one term: a type that many branches declare then costs nothing where one of them
// excludes another.

import type { SchemaNode } from './document.ts';

/** Longest text by which subschemas are compared, in UTF-16 units. */
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
    const text = JSON.stringify(node.keywords);
    const isNamed = text.length > MOST_COMPARED || NAMING.test(text);
    const key = isNamed ? node.path : `${node.resource.index} ${text}`;
    const first = this.#byText.get(key) ?? node;
    this.#byText.set(key, first);
    this.#first.set(node, first);
    return first;
  }
}
