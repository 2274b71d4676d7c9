// A schema document: every subschema with its place, its resource ($id) and its anchors, and how references find them.
// Nothing is fetched: a reference that leaves the document is refused.

import { GrammarError } from '../grammar-error.ts';
import { draftOf, idKeyword, keywordsOf, LATEST, refStandsAlone, type Draft } from './draft.ts';

export type SchemaObject = Record<string, unknown>;

/** What a base URI holds: the document itself, or a subschema with its own $id. */
export interface Resource {
  readonly uri: string;
  readonly index: number;
  readonly draft: Draft;
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

export interface SchemaNode {
  readonly index: number;
  readonly value: SchemaObject | boolean;
  /** Those of the value that have an effect: see keywordsOf. Of a boolean: none. */
  readonly keywords: SchemaObject;
  /** JSON pointer from the document's root, as shown in messages. */
  readonly path: string;
  readonly resource: Resource;
}

export interface SchemaDocument {
  readonly root: SchemaNode;
  /** Whether any $dynamicAnchor exists: without one the dynamic scope means nothing. */
  readonly dynamic: boolean;
  child(node: SchemaNode, ...keys: (string | number)[]): SchemaNode;
  /** The target of `$ref` or `$dynamicRef`, before the dynamic scope is asked; `anchor`: the dynamic anchor it named. */
  resolve(node: SchemaNode, keyword: string): { target: SchemaNode; anchor: string | null };
  refuse(node: SchemaNode, keyword: string | null, why: string, remedy: string): never;
}

const SINGLE = [
  ...[
    'items',
    'contains',
    'additionalProperties',
    'unevaluatedItems',
    'unevaluatedProperties',
    'propertyNames',
  ],
  ...['not', 'if', 'then', 'else', 'additionalItems', 'contentSchema'],
];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
const MAPS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'dependencies'];

const MAX_DEPTH = 200;
const MAX_NODES = 20_000;
const BASE = 'schema:///document';

/** A subschema, and the keyword of it; null: all of it. */
export interface RefusedPlace {
  pointer: string;
  keyword: string | null;
}

const places = new WeakMap<object, RefusedPlace>();

/** What of its schema an error refuses; null: it is about none. */
export function refusedPlace(error: unknown): RefusedPlace | null {
  return places.get(Object(error) as object) ?? null;
}

/** Indexes `schema`; `path` is how the request names it (response_format.json_schema.schema). */
export function readDocument(schema: unknown, path: string): SchemaDocument {
  const nodes = new Map<string, SchemaNode>();
  const resources = new Map<string, Resource & { root: SchemaNode }>();
  let dynamic = false;

  function refuseAt(at: string, why: string, remedy: string, keyword: string | null = null): never {
    const whole = keyword === null ? at : `${at}/${keyword}`;
    const place = whole === '' ? path : `${path} at #${whole}`;
    const refusal = new GrammarError('bad_request', `${place}: ${why}; ${remedy}`, { param: path });
    places.set(refusal, { pointer: at, keyword });
    throw refusal;
  }

  function index(value: unknown, at: string, parent: Resource | null, depth: number): SchemaNode {
    const known = nodes.get(at);
    if (known !== undefined) return known;
    if (depth > MAX_DEPTH) {
      refuseAt('', `schemas nest deeper than ${MAX_DEPTH}`, 'flatten it with $defs, or break the cycle');
    }
    if (nodes.size >= MAX_NODES) {
      refuseAt('', `there are more than ${MAX_NODES} subschemas`, 'split the schema');
    }
    if (typeof value !== 'boolean' && !isObject(value)) {
      refuseAt(at, `a schema must be an object or a boolean, not ${describe(value)}`, 'write one');
    }
    const draft = (isObject(value) ? dialectOf(value, at) : null) ?? parent?.draft ?? LATEST;
    const id = isObject(value) ? idOf(value, draft) : null;
    let resource = parent;
    if (resource === null || (id !== null && !id.startsWith('#'))) {
      const uri = resolveUri(id ?? '', parent?.uri ?? BASE, `${at}/${idKeyword(draft)}`);
      resource = { uri, index: resources.size, draft, anchors: new Map(), dynamicAnchors: new Map() };
    }
    const keywords = isObject(value) ? keywordsOf(value, draft) : {};
    const node: SchemaNode = { index: nodes.size, value, keywords, path: at, resource };
    nodes.set(at, node);
    if (resource !== parent) {
      if (resources.has(resource.uri)) {
        refuseAt(at, `the URI "${resource.uri}" is given twice`, 'give each once', idKeyword(draft));
      }
      resources.set(resource.uri, { ...resource, root: node });
    }
    if (isObject(value)) {
      if (id !== null && id.length > 1 && id.startsWith('#') && draft <= 7) {
        resource.anchors.set(id.slice(1), node); // drafts until 7 write anchors so
      }
      readAnchors(value, node);
      for (const [key, sub] of subschemas(value)) index(sub, `${at}/${key}`, resource, depth + 1);
    }
    return node;
  }

  function dialectOf(value: SchemaObject, at: string): Draft | null {
    const dialect = value['$schema'];
    if (dialect === undefined) return null;
    const draft = draftOf(dialect);
    if (draft === null) {
      refuseAt(
        `${at}/$schema`,
        `${describe(dialect)} is no draft of JSON Schema known here`,
        'use draft 2020-12',
      );
    }
    return draft;
  }

  function idOf(value: SchemaObject, draft: Draft): string | null {
    const id = value[idKeyword(draft)];
    return typeof id === 'string' && !refStandsAlone(value, draft) ? id : null;
  }

  function readAnchors(value: SchemaObject, node: SchemaNode): void {
    for (const [keyword, table] of [
      ['$anchor', node.resource.anchors],
      ['$dynamicAnchor', node.resource.dynamicAnchors],
    ] as const) {
      const name = value[keyword];
      if (typeof name !== 'string') continue;
      if (table.has(name)) {
        refuseAt(`${node.path}/${keyword}`, `the anchor "${name}" is given twice`, 'rename one');
      }
      table.set(name, node);
      dynamic ||= keyword === '$dynamicAnchor';
    }
  }

  function resolveUri(reference: string, base: string, at: string): string {
    try {
      const url = new URL(reference, base);
      return url.href.replace(/#$/, '');
    } catch {
      return refuseAt(at, `"${reference}" is not a URI reference`, 'correct it');
    }
  }

  function resolve(node: SchemaNode, keyword: string): { target: SchemaNode; anchor: string | null } {
    const reference = (node.value as SchemaObject)[keyword];
    const at = `${node.path}/${keyword}`;
    if (typeof reference !== 'string') {
      return refuseAt(at, `a reference must be a string, not ${describe(reference)}`, 'write one');
    }
    const href = resolveUri(reference, node.resource.uri, at);
    const cut = href.indexOf('#');
    const uri = cut < 0 ? href : href.slice(0, cut);
    const fragment = decodeFragment(cut < 0 ? '' : href.slice(cut + 1), at);
    const resource = resources.get(uri);
    if (resource === undefined) {
      return refuseAt(
        at,
        `"${reference}" leaves the document, and nothing is fetched`,
        'put its target under $defs',
      );
    }
    if (fragment === '') return { target: resource.root, anchor: null };
    if (fragment.startsWith('/')) return { target: follow(resource, fragment, reference, at), anchor: null };
    const dynamicTarget = resource.dynamicAnchors.get(fragment);
    const target = dynamicTarget ?? resource.anchors.get(fragment);
    if (target === undefined) {
      return refuseAt(at, `there is no anchor "${fragment}" in "${uri}"`, 'correct the reference');
    }
    return { target, anchor: dynamicTarget === undefined ? null : fragment };
  }

  function decodeFragment(fragment: string, at: string): string {
    try {
      return decodeURIComponent(fragment);
    } catch {
      return refuseAt(at, `"#${fragment}" holds a broken percent escape`, 'correct it');
    }
  }

  /** Follows a JSON pointer through the raw document: its target may lie where no keyword expects a schema. */
  function follow(from: { root: SchemaNode }, pointer: string, reference: string, at: string): SchemaNode {
    let value: unknown = from.root.value;
    let place = from.root.path;
    let owner: Resource = from.root.resource;
    for (const part of pointer.slice(1).split('/')) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
      if (!inside) {
        return refuseAt(at, `nothing lies at "${reference}"`, 'correct the reference');
      }
      value = (value as SchemaObject)[key];
      place = `${place}/${part}`;
      owner = nodes.get(place)?.resource ?? owner;
    }
    return index(value, place, owner, 0);
  }

  const root = index(schema, '', null, 0);
  return {
    root,
    get dynamic() {
      return dynamic;
    },
    child(node, ...keys) {
      const at = [node.path, ...keys.map((key) => escapePointer(String(key)))].join('/');
      const found = nodes.get(at);
      if (found !== undefined) return found;
      let value: unknown = node.value;
      for (const key of keys) value = (value as SchemaObject)[key];
      return index(value, at, node.resource, 0);
    },
    resolve,
    refuse: (node, keyword, why, remedy) => refuseAt(node.path, why, remedy, keyword),
  };
}

/** The subschemas of a schema object with the rest of their path. */
function* subschemas(value: SchemaObject): Generator<[string, unknown]> {
  for (const key of SINGLE) {
    if (isSchema(value[key])) yield [key, value[key]];
  }
  for (const key of LISTS) {
    const list = value[key];
    if (!Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) if (isSchema(item)) yield [`${key}/${i}`, item];
  }
  for (const key of MAPS) {
    const map = value[key];
    if (!isObject(map)) continue;
    for (const [name, item] of Object.entries(map)) {
      if (isSchema(item)) yield [`${key}/${escapePointer(name)}`, item];
    }
  }
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is SchemaObject | boolean {
  return typeof value === 'boolean' || isObject(value);
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A value as a message shows it. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
