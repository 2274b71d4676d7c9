// The keywords of one subschema that apply others to the same value: references, allOf, anyOf, oneOf, not, if, dependentSchemas.
// Each is a choice between options; where unevaluated* asks, an option also says whose annotations count.

import { describe, isObject } from './document.ts';
import type { Context } from './context.ts';
import { ANY_OBJECT } from './object-shape.ts';
import type { Reader } from './keyword-reader.ts';
import { ANY_SHAPE, NO_SHAPE } from './shape.ts';
import { ANY, NONE, type Term } from './term.ts';

export interface Option {
  /** Schemas that hold; they annotate. */
  readonly of: readonly Term[];
  /** What holds beside them, without annotations. */
  readonly where: Term;
}

export interface Applicator {
  readonly keyword: string;
  /** Any of them may hold. Two may hold at once only where one then has seen all that the other has. */
  readonly options: readonly Option[];
}

/** Branches of an anyOf whose annotations matter: each set of them is an option. */
const MOST_BRANCHES = 8;

/** `annotated`: whether annotations matter. */
export function applicators(reader: Reader, annotated: boolean, context: Context): Applicator[] {
  const found: Applicator[] = [];
  const all = (keyword: string, terms: Term[]): void => {
    for (const term of terms) found.push({ keyword, options: [{ of: [term], where: ANY }] });
  };
  for (const keyword of ['$ref', '$dynamicRef']) {
    if (reader.has(keyword)) all(keyword, [referred(reader, keyword, context)]);
  }
  all('allOf', branches(reader, 'allOf'));
  if (reader.has('anyOf')) {
    found.push({ keyword: 'anyOf', options: anyOf(reader, annotated) });
  }
  if (reader.has('oneOf')) {
    found.push({ keyword: 'oneOf', options: oneOf(branches(reader, 'oneOf'), context) });
  }
  if (reader.has('not')) {
    found.push({ keyword: 'not', options: [{ of: [], where: context.terms.not(reader.term('not')) }] });
  }
  if (reader.has('if')) found.push({ keyword: 'if', options: conditional(reader, context) });
  found.push(...dependentSchemas(reader, context));
  return found;
}

function branches(reader: Reader, keyword: string): Term[] {
  const list = reader.list(keyword) ?? [];
  if (reader.has(keyword) && list.length === 0) reader.refuse(keyword, `${keyword} is empty`, 'leave it out');
  return list.map((_, i) => reader.term(keyword, i));
}

function referred(reader: Reader, keyword: string, { document, enter }: Context): Term {
  const { node, dynamic } = reader.at;
  const { target, anchor } = document.resolve(node, keyword);
  if (keyword === '$dynamicRef' && anchor !== null) {
    const outermost = dynamic.find((resource) => resource.dynamicAnchors.has(anchor));
    return enter(outermost?.dynamicAnchors.get(anchor) ?? target, dynamic);
  }
  return enter(target, dynamic);
}

function anyOf(reader: Reader, annotated: boolean): Option[] {
  const terms = branches(reader, 'anyOf');
  if (!annotated) return terms.map((term) => ({ of: [term], where: ANY }));
  if (terms.length > MOST_BRANCHES) {
    const why = `${terms.length} branches whose annotations matter to unevaluated* are more than ${MOST_BRANCHES}`;
    reader.refuse('anyOf', why, 'use oneOf, or additionalProperties in the branches');
  }
  return Array.from({ length: 2 ** terms.length - 1 }, (_, set) => ({
    of: terms.filter((_term, i) => ((set + 1) >> i) % 2 === 1),
    where: ANY,
  }));
}

/** Each branch without those others that it is not seen to exclude. */
function oneOf(list: Term[], { terms, isEmpty }: Context): Option[] {
  return list.map((term, i) => {
    const others = list.filter(
      (other, j) => j !== i && (other === term || !isEmpty(terms.all([term, other]))),
    );
    return { of: [term], where: terms.all(others.map(terms.not)) };
  });
}

function conditional(reader: Reader, { terms }: Context): Option[] {
  const condition = reader.term('if');
  const branch = (keyword: string): Term => (reader.has(keyword) ? reader.term(keyword) : ANY);
  return [
    { of: [condition, branch('then')], where: ANY },
    { of: [branch('else')], where: terms.not(condition) },
  ];
}

function dependentSchemas(reader: Reader, { terms }: Context): Applicator[] {
  const dependent = (reader.map('dependentSchemas') ?? []).map(([name]): [string, [string, string]] => [
    name,
    ['dependentSchemas', name],
  ]);
  for (const [name, held] of reader.map('dependencies') ?? []) {
    if (Array.isArray(held)) continue;
    if (!isObject(held) && typeof held !== 'boolean') {
      reader.refuse(
        'dependencies',
        `${describe(held)} is neither a schema nor a list of names`,
        'correct it',
      );
    }
    dependent.push([name, ['dependencies', name]]);
  }
  return dependent.map(([name, keys]) => {
    const present = { ...ANY_OBJECT, named: new Map([[name, ANY]]), required: new Set([name]) };
    const absent = { ...ANY_OBJECT, named: new Map([[name, NONE]]) };
    return {
      keyword: keys[0],
      options: [
        // What is no object fulfils both options; only the first adds no demand.
        { of: [], where: terms.shape({ ...ANY_SHAPE, objects: [absent] }) },
        { of: [reader.term(...keys)], where: terms.shape({ ...NO_SHAPE, objects: [present] }) },
      ],
    };
  });
}
