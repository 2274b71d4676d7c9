// Locates the contradiction in a schema that no value fulfils: the innermost subschema that is empty and that the schema around it needs.

import { inhabitedTerms } from './inhabited.ts';
import type { Context } from './context.ts';
import { type SchemaDocument, type SchemaNode } from './document.ts';
import { isObject } from './schema-value.ts';

/** `from` must be such a subschema itself. */
export function contradictionIn(from: SchemaNode, context: Context): SchemaNode {
  const isDead = (node: SchemaNode): boolean => {
    const term = context.enter(node, []);
    return !inhabitedTerms(term, context).isInhabited(term);
  };
  const path = new Set([from]);
  let innermost = from;
  for (const node of path) {
    innermost = node;
    const next = needed(node, context.document).find((each) => !path.has(each) && isDead(each));
    if (next !== undefined) path.add(next);
  }
  return innermost;
}

/** Subschemas that every value of a subschema needs. */
function needed(node: SchemaNode, document: SchemaDocument): SchemaNode[] {
  const { keywords: value } = node;
  const found: SchemaNode[] = [];
  const list = (keyword: string): unknown[] => (Array.isArray(value[keyword]) ? value[keyword] : []);
  const least = Number(value['minItems'] ?? 0);
  if ('$ref' in value) found.push(document.resolve(node, '$ref').target);
  list('allOf').forEach((_, i) => found.push(document.child(node, 'allOf', i)));
  for (const keyword of ['anyOf', 'oneOf'])
    if (list(keyword).length === 1) found.push(document.child(node, keyword, 0));
  for (const name of list('required')) {
    const { properties } = value;
    if (typeof name === 'string' && isObject(properties) && Object.hasOwn(properties, name))
      found.push(document.child(node, 'properties', name));
  }
  list('prefixItems')
    .slice(0, least)
    .forEach((_, i) => found.push(document.child(node, 'prefixItems', i)));
  if (least > list('prefixItems').length && 'items' in value && !Array.isArray(value['items']))
    found.push(document.child(node, 'items'));
  if ('contains' in value && value['minContains'] !== 0) found.push(document.child(node, 'contains'));
  return found;
}
