// Tests, which follow `is` in templates.

import { contains, isEqual, isOrdered, type OrderOperator } from '../operators/compare.ts';
import { calculate } from '../operators/arithmetic.ts';
import { Dict, DictView } from '../values/dict.ts';
import { typeError } from '../values/failure.ts';
import type { FilterContext } from './filter.ts';
import { isIterable, lengthOf } from '../values/iterate.ts';
import { LoopContext } from '../values/loop-context.ts';
import type { Meter } from '../values/meter.ts';
import { printed } from '../values/print.ts';
import { bind, signature } from '../values/signature.ts';
import { isLower, isUpper } from '../members/string-form.ts';
import {
  Callable,
  Float,
  isInt,
  isText,
  Lazy,
  Markup,
  Undefined,
  type Arguments,
  type Value,
} from '../values/values.ts';

/** A test: its value is the first of `args`. */
export type Test = (args: readonly Value[], named: Arguments, context: FilterContext) => boolean;

type Check = (value: Value, other: Value, context: FilterContext) => boolean;

const remainder = (value: Value, by: Value, { meter }: FilterContext): Value =>
  calculate('%', value, by, meter);

function isSequence(value: Value, { meter }: FilterContext): boolean {
  if (value instanceof Lazy || value instanceof DictView || value instanceof LoopContext) return false;
  return lengthOf(value, meter) !== null;
}

const ALONE: Readonly<Record<string, (value: Value, context: FilterContext) => boolean>> = {
  odd: (value, context) => isEqual(remainder(value, 2, context), 1, context.meter),
  even: (value, context) => isEqual(remainder(value, 2, context), 0, context.meter),
  defined: (value) => !(value instanceof Undefined),
  undefined: (value) => value instanceof Undefined,
  none: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  true: (value) => value === true,
  false: (value) => value === false,
  integer: (value) => isInt(value) && typeof value !== 'boolean',
  float: (value) => value instanceof Float,
  number: (value) => isInt(value) || value instanceof Float,
  string: isText,
  mapping: (value) => value instanceof Dict,
  sequence: isSequence,
  iterable: isIterable,
  callable: (value) => value instanceof Callable || value instanceof Undefined,
  escaped: (value) => value instanceof Markup,
  lower: (value, { meter }) => isLower(readText(value, meter)),
  upper: (value, { meter }) => isUpper(readText(value, meter)),
};

function readText(value: Value, meter: Meter): string {
  const text = printed(value, meter);
  meter.read(text.length);
  return text;
}

const PAIRS: Readonly<Record<string, Check>> = {
  divisibleby: (value, by, context) => isEqual(remainder(value, by, context), 0, context.meter),
  sameas: (value, other) => value === other,
  in: (value, container, { meter }) => contains(container, value, meter),
};

const EQUAL = ['==', 'eq', 'equalto'];
const UNEQUAL = ['!=', 'ne'];
const ORDERS: readonly [OrderOperator, ...string[]][] = [
  ['>', 'gt', 'greaterthan'],
  ['>=', 'ge'],
  ['<', 'lt', 'lessthan'],
  ['<=', 'le'],
];

function pairTest(name: string, check: Check): [string, Test] {
  const known = signature(`${name}(value, other, /)`);
  return [
    name,
    (args, named, context) => {
      const [value, other] = bind(known, args, named);
      return check(value!, other!, context);
    },
  ];
}

/** `hasFilter`: for the test filter. */
export function createTests(hasFilter: (name: string) => boolean): ReadonlyMap<string, Test> {
  const alone = Object.entries(ALONE).map(([name, check]): [string, Test] => [
    name,
    (args, named, context) => {
      if (args.length !== 1 || named.size > 0) throw typeError(`the test ${name} takes no arguments`);
      return check(args[0]!, context);
    },
  ]);
  const tests = new Map<string, Test>([
    ...alone,
    ...Object.entries(PAIRS).map(([name, check]) => pairTest(name, check)),
    ...EQUAL.map((name) => pairTest(name, (a, b, { meter }) => isEqual(a, b, meter))),
    ...UNEQUAL.map((name) => pairTest(name, (a, b, { meter }) => !isEqual(a, b, meter))),
    ...ORDERS.flatMap((names) =>
      names.map((name) => pairTest(name, (a, b, { meter }) => isOrdered(names[0], a, b, meter))),
    ),
  ]);
  tests.set('filter', ([value], _named, { meter }) => hasFilter(printed(value!, meter)));
  tests.set('test', ([value], _named, { meter }) => tests.has(printed(value!, meter)));
  return tests;
}
