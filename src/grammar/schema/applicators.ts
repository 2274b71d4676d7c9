// The applicators of one subschema that apply other schemas to the same value: references, allOf, anyOf, oneOf, not, if, dependentSchemas.
// Each is a choice between options. For unevaluatedItems and unevaluatedProperties an option also lists the subschemas whose annotations count.

import type { Context } from './context.ts';
import { ANY_OBJECT } from './object-shape.ts';
import type { KeywordReader } from './keyword-reader.ts';
import { ANY_SHAPE, NO_SHAPE } from './shape.ts';
import { describe, isObject } from './schema-value.ts';
import { ANY, NONE, UNDECLARED, type Term } from './term.ts';

export interface Option {
  /** Terms that hold, and whose annotations count. */
  readonly of: readonly Term[];
  /** A further term that holds, without annotations. */
  readonly where: Term;
}

export interface Applicator {
  readonly keyword: string;
  /** At least one holds. Two may hold at once only if one of them then evaluates all that the other does. */
  readonly options: readonly Option[];
}

/** Most branches of an anyOf whose annotations count; each subset of them is an option. */
const MOST_BRANCHES = 8;

/** `annotated`: whether annotations count. */
export function applicators(reader: KeywordReader, annotated: boolean, context: Context): Applicator[] {
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
  if (reader.has('if') && context.keepsDeclared) found.push(declaredByCondition(reader, context));
  if (reader.has('if')) found.push({ keyword: 'if', options: conditional(reader, context) });
  found.push(...dependentSchemas(reader, context));
  return found;
}

function branches(reader: KeywordReader, keyword: string): Term[] {
  const list = reader.list(keyword) ?? [];
  if (reader.has(keyword) && list.length === 0) reader.refuse(keyword, `${keyword} is empty`, 'leave it out');
  return list.map((_, i) => reader.term(keyword, i));
}

function referred(reader: KeywordReader, keyword: string, context: Context): Term {
  const { node, dynamic } = reader.at;
  const { target, anchor } = context.document.resolve(node, keyword);
  if (keyword === '$dynamicRef' && anchor !== null) {
    const outermost = dynamic.find((resource) => resource.dynamicAnchors.has(anchor));
    return context.enter(outermost?.dynamicAnchors.get(anchor) ?? target, dynamic);
  }
  return context.enter(target, dynamic);
}

function anyOf(reader: KeywordReader, annotated: boolean): Option[] {
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

/** Each branch without the other branches, except those that are known to be disjoint from it. */
function oneOf(list: Term[], context: Context): Option[] {
  const { terms } = context;
  return list.map((term, i) => {
    const others = list.filter(
      (other, j) => j !== i && (other === term || !context.isEmpty(terms.all([term, other]))),
    );
    return { of: [term], where: terms.not(terms.some(others)) };
  });
}

/** What `if` declares is declared where it does not hold, too, and comes before what `then` and `else` declare. */
function declaredByCondition(reader: KeywordReader, { terms }: Context): Applicator {
  const condition = reader.at.value['if'];
  const properties = isObject(condition) && isObject(condition['properties']) ? condition['properties'] : {};
  const names = Object.keys(properties);
  const named = new Map(names.map((name) => [name, ANY]));
  const objects =
    names.length === 0 ? [ANY_OBJECT] : [{ ...ANY_OBJECT, named, declared: { names, closes: false } }];
  return { keyword: 'if', options: [{ of: [], where: terms.shape({ ...ANY_SHAPE, objects }) }] };
}

function conditional(reader: KeywordReader, { terms }: Context): Option[] {
  const condition = reader.term('if');
  const branch = (keyword: string): Term => (reader.has(keyword) ? reader.term(keyword) : ANY);
  return [
    { of: [condition, branch('then')], where: ANY },
    { of: [branch('else')], where: terms.not(condition) },
  ];
}

function dependentSchemas(reader: KeywordReader, { terms }: Context): Applicator[] {
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
    const present = { ...ANY_OBJECT, named: new Map([[name, UNDECLARED]]), required: new Set([name]) };
    const absent = { ...ANY_OBJECT, named: new Map([[name, NONE]]) };
    return {
      keyword: keys[0],
      options: [
        // Values that are not objects have the first option, which does not restrict them.
        { of: [], where: terms.shape({ ...ANY_SHAPE, objects: [absent] }) },
        { of: [reader.term(...keys)], where: terms.shape({ ...NO_SHAPE, objects: [present] }) },
      ],
    };
  });
}
