// A schema document: an index of its subschemas with their resources ($id) and anchors, and the resolution of references. Nothing is
// fetched; a reference that leaves the document is refused.

import { draftOf, idKeyword, keywordsOf, LATEST, refStandsAlone, type Draft } from './draft.ts';
import { refusePlace } from './refusal.ts';
import {
  describe,
  escapePointer,
  isObject,
  subschemas,
  unescapePointer,
  type SchemaObject,
} from './schema-value.ts';

/** The schemas under one base URI: the document itself, or a subschema with its own $id. */
export interface Resource {
  readonly uri: string;
  readonly index: number;
  readonly draft: Draft;
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

/** A subschema with its place in the document. */
export interface SchemaNode {
  readonly index: number;
  readonly value: SchemaObject | boolean;
  /** Keywords of the subschema that have an effect (see keywordsOf); empty for a boolean schema. */
  readonly keywords: SchemaObject;
  /** JSON pointer from the root of the document. */
  readonly path: string;
  readonly resource: Resource;
}

/** The target of a reference, and the dynamic anchor by which it was named, if it was. */
export interface RefTarget {
  target: SchemaNode;
  anchor: string | null;
}

/** Most subschemas inside each other. */
const MOST_DEPTH = 200;
const MOST_NODES = 20_000;
const BASE = 'schema:///document';

export class SchemaDocument {
  readonly root: SchemaNode;
  readonly #path: string;
  /** Subschemas by their JSON pointers. */
  readonly #nodes = new Map<string, SchemaNode>();
  /** Resources by their URIs. */
  readonly #resources = new Map<string, Resource & { root: SchemaNode }>();
  #hasDynamicAnchors = false;

  /** `path`: how the request names the schema, as in response_format.json_schema.schema. Throws bad_request. */
  constructor(schema: unknown, path: string) {
    this.#path = path;
    this.root = this.#index(schema, '', null, 0);
  }

  /** Whether there is a $dynamicAnchor; without one the dynamic scope has no effect. */
  get hasDynamicAnchors(): boolean {
    return this.#hasDynamicAnchors;
  }

  /** The subschema under these keys of a subschema. */
  child(node: SchemaNode, ...keys: (string | number)[]): SchemaNode {
    const at = [node.path, ...keys.map((key) => escapePointer(String(key)))].join('/');
    const found = this.#nodes.get(at);
    if (found !== undefined) return found;
    let value: unknown = node.value;
    for (const key of keys) value = (value as SchemaObject)[key];
    return this.#index(value, at, node.resource, 0);
  }

  /** The target of `$ref` or `$dynamicRef` by the lexical scope alone. Throws bad_request. */
  resolve(node: SchemaNode, keyword: string): RefTarget {
    const reference = (node.value as SchemaObject)[keyword];
    const at = `${node.path}/${keyword}`;
    if (typeof reference !== 'string') {
      return this.#refuseAt(at, `a reference must be a string, not ${describe(reference)}`, 'write one');
    }
    const href = this.#resolveUri(reference, node.resource.uri, at);
    const cut = href.indexOf('#');
    const uri = cut < 0 ? href : href.slice(0, cut);
    const fragment = this.#decodeFragment(cut < 0 ? '' : href.slice(cut + 1), at);
    const resource = this.#resources.get(uri);
    if (resource === undefined) {
      const why = `"${reference}" leaves the document, and nothing is fetched`;
      return this.#refuseAt(at, why, 'put its target under $defs');
    }
    if (fragment === '') return { target: resource.root, anchor: null };
    if (fragment.startsWith('/'))
      return { target: this.#follow(resource.root, fragment, reference, at), anchor: null };
    const dynamicTarget = resource.dynamicAnchors.get(fragment);
    const target = dynamicTarget ?? resource.anchors.get(fragment);
    if (target === undefined) {
      return this.#refuseAt(at, `there is no anchor "${fragment}" in "${uri}"`, 'correct the reference');
    }
    return { target, anchor: dynamicTarget === undefined ? null : fragment };
  }

  /** Throws bad_request for a keyword of a subschema; null: for the whole of it. */
  refuse({ path }: Pick<SchemaNode, 'path'>, keyword: string | null, why: string, remedy: string): never {
    return this.#refuseAt(path, why, remedy, keyword);
  }

  #refuseAt(pointer: string, why: string, remedy: string, keyword: string | null = null): never {
    return refusePlace(this.#path, { pointer, keyword }, why, remedy);
  }

  /** Adds a schema and its subschemas to the index. `at`: JSON pointer of the schema. */
  #index(value: unknown, at: string, parent: Resource | null, depth: number): SchemaNode {
    const known = this.#nodes.get(at);
    if (known !== undefined) return known;
    if (depth > MOST_DEPTH) {
      const why = `schemas nest deeper than ${MOST_DEPTH}`;
      this.#refuseAt('', why, 'flatten it with $defs, or break the cycle');
    }
    if (this.#nodes.size >= MOST_NODES) {
      this.#refuseAt('', `there are more than ${MOST_NODES} subschemas`, 'split the schema');
    }
    if (typeof value !== 'boolean' && !isObject(value)) {
      this.#refuseAt(at, `a schema must be an object or a boolean, not ${describe(value)}`, 'write one');
    }
    const draft = (isObject(value) ? this.#dialectOf(value, at) : null) ?? parent?.draft ?? LATEST;
    const id = isObject(value) ? idOf(value, draft) : null;
    const resource = this.#resourceOf(id, draft, at, parent);
    const keywords = isObject(value) ? keywordsOf(value, draft) : {};
    const node: SchemaNode = { index: this.#nodes.size, value, keywords, path: at, resource };
    this.#nodes.set(at, node);
    if (resource !== parent) {
      if (this.#resources.has(resource.uri)) {
        this.#refuseAt(at, `the URI "${resource.uri}" is given twice`, 'give each once', idKeyword(draft));
      }
      this.#resources.set(resource.uri, { ...resource, root: node });
    }
    if (isObject(value)) {
      // Until draft 7 an $id of a fragment alone is an anchor.
      if (id !== null && id.length > 1 && id.startsWith('#') && draft <= 7)
        resource.anchors.set(id.slice(1), node);
      this.#readAnchors(value, node);
      for (const [key, sub] of subschemas(value)) this.#index(sub, `${at}/${key}`, resource, depth + 1);
    }
    return node;
  }

  #resourceOf(id: string | null, draft: Draft, at: string, parent: Resource | null): Resource {
    if (parent !== null && (id === null || id.startsWith('#'))) return parent;
    const uri = this.#resolveUri(id ?? '', parent?.uri ?? BASE, `${at}/${idKeyword(draft)}`);
    return { uri, index: this.#resources.size, draft, anchors: new Map(), dynamicAnchors: new Map() };
  }

  #dialectOf(value: SchemaObject, at: string): Draft | null {
    const dialect = value['$schema'];
    if (dialect === undefined) return null;
    const why = `${describe(dialect)} is not a draft of JSON Schema known here`;
    return draftOf(dialect) ?? this.#refuseAt(`${at}/$schema`, why, 'use draft 2020-12');
  }

  #readAnchors(value: SchemaObject, node: SchemaNode): void {
    for (const [keyword, table] of [
      ['$anchor', node.resource.anchors],
      ['$dynamicAnchor', node.resource.dynamicAnchors],
    ] as const) {
      const name = value[keyword];
      if (typeof name !== 'string') continue;
      if (table.has(name)) {
        this.#refuseAt(`${node.path}/${keyword}`, `the anchor "${name}" is given twice`, 'rename one');
      }
      table.set(name, node);
      if (keyword === '$dynamicAnchor') this.#hasDynamicAnchors = true;
    }
  }

  #resolveUri(reference: string, base: string, at: string): string {
    try {
      return new URL(reference, base).href.replace(/#$/, '');
    } catch {
      return this.#refuseAt(at, `"${reference}" is not a URI reference`, 'correct it');
    }
  }

  #decodeFragment(fragment: string, at: string): string {
    try {
      return decodeURIComponent(fragment);
    } catch {
      return this.#refuseAt(at, `"#${fragment}" holds a broken percent escape`, 'correct it');
    }
  }

  /** Follows a JSON pointer through the raw document: its target may be in a place that no keyword makes a subschema. */
  #follow(root: SchemaNode, pointer: string, reference: string, at: string): SchemaNode {
    let value: unknown = root.value;
    let place = root.path;
    let owner: Resource = root.resource;
    for (const part of pointer.slice(1).split('/')) {
      const key = unescapePointer(part);
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key))
        return this.#refuseAt(at, `nothing lies at "${reference}"`, 'correct the reference');
      value = (value as SchemaObject)[key];
      place = `${place}/${part}`;
      owner = this.#nodes.get(place)?.resource ?? owner;
    }
    return this.#index(value, place, owner, 0);
  }
}

function idOf(value: SchemaObject, draft: Draft): string | null {
  const id = value[idKeyword(draft)];
  return typeof id === 'string' && !refStandsAlone(value, draft) ? id : null;
}
