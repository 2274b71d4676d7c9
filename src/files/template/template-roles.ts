// What a chat template knows by name, read off its syntax tree. A role is known where the template compares a message's role with
// its name, alone or in a list. The word anywhere else (as in "type": "function") says nothing.

import type { Template } from '@huggingface/jinja';

type TemplateSyntax = Template['parsed'];

export function namedRoles(syntax: TemplateSyntax): Set<string> {
  const roles = new Set<string>();
  visit(syntax, (node) => {
    if (node['type'] !== 'BinaryExpression' || !isComparison(node['operator'])) return;
    const sides = [node['left'], node['right']];
    if (!sides.some(isRole)) return;
    for (const side of sides) for (const name of literals(side)) roles.add(name);
  });
  return roles;
}

/** Names of variables that it looks at; members of objects are none. */
export function namedVariables(syntax: TemplateSyntax): Set<string> {
  const names = new Set<string>();
  const members = new Set<unknown>();
  visit(syntax, (node) => {
    if (node['type'] === 'MemberExpression' && node['computed'] !== true) members.add(node['property']);
    if (node['type'] === 'Identifier' && !members.has(node)) names.add(String(node['value']));
  });
  return names;
}

type Node = Record<string, unknown>;

function visit(value: unknown, see: (node: Node) => void): void {
  if (value instanceof Map) {
    for (const pair of value) visit(pair, see);
  } else if (Array.isArray(value)) {
    for (const entry of value) visit(entry, see);
  } else if (isNode(value)) {
    see(value);
    visit(Object.values(value), see);
  }
}

function isComparison(operator: unknown): boolean {
  return isNode(operator) && ['==', '!=', 'in', 'not in'].includes(String(operator['value']));
}

/** `message.role`, `message['role']`, or a variable set from one: `role`, `last_role` … */
function isRole(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value['type'] === 'Identifier') return /role$/i.test(String(value['value']));
  if (value['type'] !== 'MemberExpression') return false;
  const { property } = value;
  return isNode(property) && property['value'] === 'role';
}

function literals(value: unknown): string[] {
  if (!isNode(value)) return [];
  const { type, value: content } = value;
  if (type === 'StringLiteral') return [String(content)];
  return (type === 'ArrayLiteral' || type === 'TupleLiteral') && Array.isArray(content)
    ? content.flatMap(literals)
    : [];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}
