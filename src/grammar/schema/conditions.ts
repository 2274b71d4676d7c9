// The conditions on the properties of an object shape, worked out: which kinds of values each name can have, which conditions each kind
// meets, and which are met by the absence of a name. The complement of an object shape has such conditions, for `not` and `oneOf`.

import { countTexts } from '../automata/dfa-language.ts';
import { accepts, intersect, isEmpty, subtract } from '../automata/dfa.ts';
import { allConditions, MOST_CONDITIONS, OpenNames } from '../rules/object-conditions.ts';
import { wordsDfa } from '../automata/word-dfa.ts';
import type { Context } from './context.ts';
import { termOf } from './object-shape.ts';
import {
  NONE,
  type Condition,
  type IsInhabited,
  type NameClass,
  type ObjectShape,
  type Term,
} from './term.ts';

/** Values of a property that meet the same conditions, as bits. */
export interface Kind {
  readonly term: Term;
  readonly meets: number;
}

/** The kinds of values in an object, of which every condition needs one, or the absence of a name. */
export interface Kinds {
  readonly count: number;
  readonly named: ReadonlyMap<string, readonly Kind[]>;
  /** [classes of the shape] */
  readonly classes: readonly (readonly Kind[])[];
  /** Conditions that are met where a name does not occur, as bits. */
  readonly absent: ReadonlyMap<string, number>;
}

/** An object shape without conditions, and what became of them; null: there were none. */
export interface KindShape extends ObjectShape {
  readonly kinds: Kinds | null;
}

/** Most kinds of values of one property. */
const MOST_KINDS = 128;
/** Steps that dividing a kind of values in two counts as, without the terms in it. */
const KIND_STEPS = 2000;
/** Most ways of meeting all conditions, where each becomes a shape. */
const MOST_WAYS = 256;

/** The terms of all kinds of values in a shape. */
export function termsOfKinds(shape: ObjectShape, context: Context): Term[] {
  if (shape.conditions.length === 0) return [];
  const { named, classes } = kindsOfShape(shape, context);
  return [...named.values(), ...classes.map(({ kinds }) => kinds)].flatMap((list) =>
    list.map(({ term }) => term),
  );
}

/** The objects of a shape that meet its conditions, as a union of shapes. */
export function meetConditions(shape: ObjectShape, isInhabited: IsInhabited, context: Context): KindShape[] {
  if (shape.conditions.length === 0) return [{ ...shape, kinds: null }];
  const { required, dependent, min, max } = shape;
  const { conditions, ...all } = kindsOfShape(shape, context);
  const inhabited = (list: readonly Kind[]): Kind[] => list.filter(({ term }) => isInhabited(term));
  const named = new Map([...all.named].map(([name, list]) => [name, inhabited(list)]));
  const classes = all.classes
    .map((each) => ({ ...each, kinds: inhabited(each.kinds) }))
    .filter((each) => each.kinds.length > 0);
  const absent = absences(conditions);
  const kinds: Kinds = {
    count: conditions.length,
    named,
    classes: classes.map((each) => each.kinds),
    absent,
  };
  const base = {
    ...shape,
    conditions: [],
    named: new Map([...named].map(([name, list]) => [name, list.length === 0 ? NONE : termOf(shape, name)])),
    classes: classes.map(({ names, term }) => ({ names, term })),
  };
  const hasMore = (): boolean => classes.some(({ names }) => countTexts(names)[0] === Infinity);
  const isCounted = max === Infinity && dependent.size === 0 && (min <= required.size || hasMore());
  if (!isCounted) return eachWay({ ...base, kinds }, conditions, context);
  const open = new OpenNames(
    [...named].map(([name, list]) => {
      const meets = list.map((kind) => kind.meets);
      return required.has(name) ? meets : [absent.get(name) ?? 0, ...meets];
    }),
    classes.map(({ names, kinds: list }) => ({
      kinds: list.map(({ meets }) => meets),
      left: countTexts(names)[0] ?? 0,
    })),
  );
  const { work } = context.bounds;
  return open.canMeet(allConditions(conditions.length), (steps) => work.spend(steps))
    ? [{ ...base, kinds }]
    : [];
}

function absences(conditions: readonly Condition[]): Map<string, number> {
  const absent = new Map<string, number>();
  conditions.forEach(({ ways }, i) => {
    for (const way of ways)
      if (way.kind === 'lacks') absent.set(way.name, (absent.get(way.name) ?? 0) | (1 << i));
  });
  return absent;
}

/** One shape for each way of meeting all conditions, where bounds or dependent names keep them from being followed while a text is written. */
function eachWay(base: KindShape, conditions: readonly Condition[], context: Context): KindShape[] {
  let found = [{ ...base, kinds: base.kinds! }];
  for (const [i, { ways, at }] of conditions.entries()) {
    if (base.kinds!.classes.some((list) => list.some(({ meets }) => (meets & (1 << i)) !== 0))) {
      const why =
        'it asks that some property of no known name breaks a rule, beside dependent names or bounds';
      context.cannot(at, 'properties', why);
    }
    const names = [...base.kinds!.named.keys()];
    found = found.flatMap((shape) => [
      ...ways.flatMap((way) =>
        way.kind === 'lacks' && !shape.required.has(way.name) ? [without(shape, way.name)] : [],
      ),
      ...names.flatMap((name) => requiring(shape, name, 1 << i)),
    ]);
    if (found.length > MOST_WAYS)
      context.tooLarge(`more than ${MOST_WAYS} ways of meeting the conditions on one object`);
  }
  return found.map((shape) => ({ ...shape, kinds: { ...shape.kinds, count: 0 } }));
}

type Expanded = KindShape & { readonly kinds: Kinds };

function without(shape: Expanded, name: string): Expanded {
  return {
    ...shape,
    named: new Map([...shape.named, [name, NONE]]),
    kinds: { ...shape.kinds, named: new Map([...shape.kinds.named, [name, []]]) },
  };
}

/** The shape with the name, whose value meets a condition; none if it cannot. */
function requiring(shape: Expanded, name: string, condition: number): Expanded[] {
  const list = shape.kinds.named.get(name)!.filter(({ meets }) => (meets & condition) !== 0);
  if (list.length === 0) return [];
  return [
    {
      ...shape,
      required: new Set([...shape.required, name]),
      kinds: { ...shape.kinds, named: new Map([...shape.kinds.named, [name, list]]) },
    },
  ];
}

interface ShapeKinds {
  /** The conditions that not every object of the shape meets. */
  conditions: readonly Condition[];
  named: Map<string, Kind[]>;
  /** Classes of names without known names, cut so that the names of each meet the same conditions. */
  classes: (NameClass & { kinds: Kind[] })[];
}

/** The kinds of each shape, worked out once: what is known to be empty grows, and kinds must not change with it. */
const known = new WeakMap<ObjectShape, ShapeKinds>();

function kindsOfShape(shape: ObjectShape, context: Context): ShapeKinds {
  let found = known.get(shape);
  if (found === undefined) known.set(shape, (found = workOutKinds(shape, context)));
  return found;
}

function workOutKinds(shape: ObjectShape, context: Context): ShapeKinds {
  const { required } = shape;
  const conditions = shape.conditions.filter((condition) => !isAlwaysMet(condition, shape, context));
  if (conditions.length > MOST_CONDITIONS)
    context.tooLarge(`more than ${MOST_CONDITIONS} conditions on the properties of one object`);
  const names = new Set([...shape.named.keys(), ...required]);
  for (const { ways } of conditions) for (const way of ways) if (way.kind !== 'other') names.add(way.name);
  const named = new Map<string, Kind[]>();
  for (const name of names) {
    const asked = conditions.map(({ ways }) =>
      ways.flatMap((way) => {
        const isAbout =
          way.kind === 'has' ? way.name === name : way.kind === 'other' && accepts(way.names, name);
        return isAbout && way.kind !== 'lacks' ? [way.term] : [];
      }),
    );
    named.set(name, kindsOf(termOf(shape, name), asked, context));
  }
  const words = wordsDfa(names, context.bounds);
  let classes = shape.classes.map((each) => ({
    names: subtract(each.names, words, context.bounds),
    term: each.term,
    asked: conditions.map((): Term[] => []),
  }));
  for (const [i, { ways }] of conditions.entries()) {
    for (const way of ways) {
      if (way.kind !== 'other') continue;
      classes = classes.flatMap((each) => [
        {
          ...each,
          names: intersect(each.names, way.names, context.bounds),
          asked: withAsked(each.asked, i, way.term),
        },
        { ...each, names: subtract(each.names, way.names, context.bounds) },
      ]);
      classes = classes.filter((each) => !isEmpty(each.names));
    }
  }
  const kept = classes.map(({ names: dfa, term, asked }) => ({
    names: dfa,
    term,
    kinds: kindsOf(term, asked, context),
  }));
  return { conditions, named, classes: kept.filter(({ names: dfa }) => !isEmpty(dfa)) };
}

/** Whether each object of the shape meets a condition, as one of its required properties does. */
function isAlwaysMet({ ways }: Condition, shape: ObjectShape, context: Context): boolean {
  return ways.some(
    (way) =>
      way.kind === 'has' &&
      shape.required.has(way.name) &&
      isWithin(termOf(shape, way.name), way.term, context),
  );
}

/** Whether all values of a term are values of another one; false also if that cannot be decided quickly. */
function isWithin(inner: Term, outer: Term, context: Context): boolean {
  const { terms } = context;
  return terms.all([inner, outer]) === inner || context.isEmpty(terms.all([inner, terms.not(outer)]));
}

function withAsked(asked: readonly Term[][], at: number, term: Term): Term[][] {
  return asked.map((list, i) => (i === at ? [...list, term] : list));
}

/** The parts of a term, by the conditions that they meet. `asked`: for each condition, terms of which one is to be met. */
function kindsOf(own: Term, asked: readonly Term[][], context: Context): Kind[] {
  const { terms } = context;
  const meeting = new Map<Term, number>();
  let always = 0;
  asked.forEach((list, i) => {
    for (const term of list) {
      if (isWithin(own, term, context)) always |= 1 << i;
      else if (!context.isEmpty(terms.all([own, term])))
        meeting.set(term, (meeting.get(term) ?? 0) | (1 << i));
    }
  });
  let kinds: Kind[] = [{ term: own, meets: always }];
  for (const [term, bits] of meeting) {
    context.bounds.work.spend(KIND_STEPS * kinds.length);
    kinds = kinds
      .flatMap((kind) => [
        { term: terms.all([kind.term, term]), meets: kind.meets | bits },
        { term: terms.all([kind.term, terms.not(term)]), meets: kind.meets },
      ])
      .filter((kind) => kind.term !== NONE && !context.isEmpty(kind.term));
    if (kinds.length > MOST_KINDS)
      context.tooLarge(
        `more than ${MOST_KINDS} kinds of values of one property, by the conditions that they meet`,
      );
  }
  return kinds;
}
