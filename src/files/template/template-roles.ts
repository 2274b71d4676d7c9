// Roles and names that a chat template knows, from its syntax tree. A role is known where the template compares a message's role with
// its name, alone or in a list. The word anywhere else (as in "type": "function") says nothing.

import { isNode, walk, type SyntaxNode } from './jinja/syntax/walk.ts';

/** `syntax`: of JinjaTemplate. */
export function namedRoles(syntax: unknown): Set<string> {
  const roles = new Set<string>();
  walk(syntax, (node) => {
    if (node.kind !== 'compare') return;
    const sides = sidesOf(node);
    if (!sides.some(isRole)) return;
    for (const side of sides) for (const name of literals(side)) roles.add(name);
  });
  return roles;
}

/** Names of variables that it looks at; members of objects are none. */
export function namedVariables(syntax: unknown): Set<string> {
  const names = new Set<string>();
  walk(syntax, ({ kind, name }) => {
    if (kind === 'name') names.add(String(name));
  });
  return names;
}

/** The two sides of an equality or containment; empty for a comparison by order. */
function sidesOf({ first, rest }: SyntaxNode): unknown[] {
  if (!Array.isArray(rest)) return [];
  const others = rest.filter(({ operator }) => ['==', '!=', 'in', 'not in'].includes(String(operator)));
  return others.length > 0 ? [first, ...others.map(({ value }) => value as unknown)] : [];
}

/** `message.role`, `message['role']`, or a variable set from one: `role`, `last_role` … */
function isRole(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value.kind === 'name') return /role$/i.test(String(value['name']));
  if (value.kind === 'attribute') return value['name'] === 'role';
  const { index } = value;
  return value.kind === 'item' && isNode(index) && index['value'] === 'role';
}

function literals(value: unknown): string[] {
  if (!isNode(value)) return [];
  const { kind, value: content, items } = value;
  if (kind === 'literal') return typeof content === 'string' ? [content] : [];
  return (kind === 'list' || kind === 'tuple') && Array.isArray(items) ? items.flatMap(literals) : [];
}
