// Expressions of the syntax tree as functions of a scope.

import { calculate, signed } from './operators/arithmetic.ts';
import { contains, isEqual, isOrdered } from './operators/compare.ts';
import { Dict } from './values/dict.ts';
import { TemplateFailure, typeError } from './values/failure.ts';
import { FILTERS, TESTS } from './filters/filters.ts';
import { isTrue, iterate } from './values/iterate.ts';
import { element, member } from './members/members.ts';
import type { Meter } from './values/meter.ts';
import { printed } from './values/print.ts';
import type { Scope } from './scope.ts';
import { NO_NAMED } from './values/signature.ts';
import { slice } from './operators/slice.ts';
import type { CallArguments, CompareOperator, Expression } from './syntax/syntax.ts';
import { joinText } from './members/string-search.ts';
import { Callable, Float, Tuple, typeName, Undefined, type Arguments, type Value } from './values/values.ts';

export type Evaluate = (scope: Scope) => Value;

type Of<Kind> = Extract<Expression, { kind: Kind }>;

/**
 * `soft`: the expression is in an `if`, where an unknown filter or test is an error only when it is evaluated; otherwise compiling
 * throws.
 */
export function compileExpression(node: Expression, soft: boolean): Evaluate {
  switch (node.kind) {
    case 'literal': {
      const { value } = node;
      return () => value;
    }
    case 'float': {
      const value = new Float(node.value);
      return () => value;
    }
    case 'name': {
      const { name } = node;
      return (scope) => scope.get(name);
    }
    case 'list':
    case 'tuple':
      return compileSeries(node, soft);
    case 'dict':
      return compileDict(node, soft);
    case 'attribute': {
      const of = compileExpression(node.of, soft);
      const { name } = node;
      return (scope) => member(of(scope), name, meterOf(scope));
    }
    case 'item':
      return compileItem(node, soft);
    case 'slice':
      return () => {
        throw typeError('a slice stands alone between its brackets');
      };
    case 'call':
      return compileCall(node, soft);
    case 'filter':
      return compileFilter(node, soft);
    case 'test':
      return compileTest(node, soft);
    case 'not':
    case 'negative':
    case 'positive':
      return compileUnary(node, soft);
    case 'and':
    case 'or':
      return compileLogic(node, soft);
    case 'arithmetic': {
      const left = compileExpression(node.left, soft);
      const right = compileExpression(node.right, soft);
      const { operator } = node;
      return (scope) => calculate(operator, left(scope), right(scope), meterOf(scope));
    }
    case 'concat': {
      const parts = node.parts.map((part) => compileExpression(part, soft));
      return (scope) => {
        const meter = meterOf(scope);
        const texts = parts.map((part) => part(scope));
        return joinText(
          '',
          texts.map((value) => printed(value, meter)),
          meter,
        );
      };
    }
    case 'compare':
      return compileCompare(node, soft);
    case 'condition':
      return compileCondition(node);
  }
}

/** Every operation counts one step. */
function meterOf(scope: Scope): Meter {
  const { meter } = scope.run.context;
  meter.step();
  return meter;
}

function compileSeries({ kind, items }: Of<'list' | 'tuple'>, soft: boolean): Evaluate {
  const parts = items.map((item) => compileExpression(item, soft));
  return (scope) => {
    meterOf(scope).hold(parts.length);
    const values = parts.map((part) => part(scope));
    return kind === 'tuple' ? new Tuple(values) : values;
  };
}

function compileDict({ pairs }: Of<'dict'>, soft: boolean): Evaluate {
  const parts = pairs.map(({ key, value }) => ({
    key: compileExpression(key, soft),
    value: compileExpression(value, soft),
  }));
  return (scope) => {
    const meter = meterOf(scope);
    meter.hold(parts.length);
    const dict = new Dict();
    for (const { key, value } of parts) dict.set(key(scope), value(scope), meter);
    return dict;
  };
}

function compileItem({ of, index }: Of<'item'>, soft: boolean): Evaluate {
  const value = compileExpression(of, soft);
  if (index.kind !== 'slice') {
    const at = compileExpression(index, soft);
    return (scope) => element(value(scope), at(scope), meterOf(scope));
  }
  const bound = (part: Expression | null): Evaluate =>
    part === null ? () => null : compileExpression(part, soft);
  const [start, stop, step] = [bound(index.start), bound(index.stop), bound(index.step)];
  return (scope) =>
    slice(value(scope), { start: start(scope), stop: stop(scope), step: step(scope) }, meterOf(scope));
}

type Given = (scope: Scope) => { args: readonly Value[]; named: Arguments };

export function compileArguments(given: CallArguments, soft: boolean): Given {
  const positional = given.positional.map((part) => compileExpression(part, soft));
  const named = given.named.map(({ name, value }) => ({ name, value: compileExpression(value, soft) }));
  const spread = given.spread && compileExpression(given.spread, soft);
  const spreadNamed = given.spreadNamed && compileExpression(given.spreadNamed, soft);
  return (scope) => {
    const { meter } = scope.run.context;
    const args = positional.map((part) => part(scope));
    if (spread)
      for (const value of iterate(spread(scope), meter)) {
        meter.hold(1);
        args.push(value);
      }
    if (named.length === 0 && !spreadNamed) return { args, named: NO_NAMED };
    const values = new Map(named.map(({ name, value }) => [name, value(scope)]));
    if (spreadNamed) addNamed(values, spreadNamed(scope), meter);
    return { args, named: values };
  };
}

function addNamed(values: Map<string, Value>, more: Value, meter: Meter): void {
  if (!(more instanceof Dict)) throw typeError(`argument after ** must be a mapping, not ${typeName(more)}`);
  for (const { key, value } of more.pairs()) {
    if (typeof key !== 'string') throw typeError('keywords must be strings');
    if (values.has(key)) throw typeError(`got multiple values for keyword argument '${key}'`);
    meter.hold(1);
    values.set(key, value);
  }
}

export function callValue(value: Value, args: readonly Value[], named: Arguments): Value {
  if (value instanceof Callable) return value.call(args, named);
  if (value instanceof Undefined) return value.raise();
  throw typeError(`'${typeName(value)}' object is not callable`);
}

function compileCall(node: Of<'call'>, soft: boolean): Evaluate {
  const of = compileExpression(node.of, soft);
  const given = compileArguments(node.given, soft);
  return (scope) => {
    meterOf(scope);
    const value = of(scope);
    const { args, named } = given(scope);
    return callValue(value, args, named);
  };
}

function requireKnown(kind: 'filter' | 'test', name: string, soft: boolean): void {
  const known = kind === 'filter' ? FILTERS : TESTS;
  if (!soft && !known.has(name))
    throw new TemplateFailure('TemplateSyntaxError', `No ${kind} named '${name}'.`);
}

/** `of`: the input of a filter block; elsewhere the filter node has its own. */
export function compileFilter(node: Of<'filter'>, soft: boolean, of?: Evaluate): Evaluate {
  requireKnown('filter', node.name, soft);
  const value = node.of
    ? node.of.kind === 'filter'
      ? compileFilter(node.of, soft, of)
      : compileExpression(node.of, soft)
    : (of ?? (() => ''));
  const given = compileArguments(node.given, soft);
  const { name } = node;
  return (scope) => {
    const { context } = scope.run;
    context.meter.step();
    const first = value(scope);
    const { args, named } = given(scope);
    return context.filter(name, first, args, named);
  };
}

function compileTest(node: Of<'test'>, soft: boolean): Evaluate {
  requireKnown('test', node.name, soft);
  const value = compileExpression(node.of, soft);
  const given = compileArguments(node.given, soft);
  const { name } = node;
  return (scope) => {
    const { context } = scope.run;
    context.meter.step();
    const first = value(scope);
    const { args, named } = given(scope);
    return context.test(name, first, args, named);
  };
}

function compileUnary(node: Of<'not' | 'negative' | 'positive'>, soft: boolean): Evaluate {
  const of = compileExpression(node.of, soft);
  if (node.kind === 'not') return (scope) => !isTrue(of(scope));
  const sign = node.kind === 'negative' ? '-' : '+';
  return (scope) => signed(sign, of(scope));
}

function compileLogic(node: Of<'and' | 'or'>, soft: boolean): Evaluate {
  const left = compileExpression(node.left, soft);
  const right = compileExpression(node.right, soft);
  const stops = node.kind === 'or';
  return (scope) => {
    const value = left(scope);
    return isTrue(value) === stops ? value : right(scope);
  };
}

function compileCompare({ first, rest }: Of<'compare'>, soft: boolean): Evaluate {
  const start = compileExpression(first, soft);
  const others = rest.map(({ operator, value }) => ({
    operator,
    value: compileExpression(value, soft),
  }));
  return (scope) => {
    const meter = meterOf(scope);
    let left = start(scope);
    for (const { operator, value } of others) {
      const right = value(scope);
      if (!holds(operator, left, right, meter)) return false;
      left = right;
    }
    return true;
  };
}

function holds(operator: CompareOperator, left: Value, right: Value, meter: Meter): boolean {
  switch (operator) {
    case '==':
      return isEqual(left, right, meter);
    case '!=':
      return !isEqual(left, right, meter);
    case 'in':
      return contains(right, left, meter);
    case 'not in':
      return !contains(right, left, meter);
    default:
      return isOrdered(operator, left, right, meter);
  }
}

function compileCondition({ test, yes, no, line }: Of<'condition'>): Evaluate {
  const [asked, left] = [compileExpression(test, true), compileExpression(yes, true)];
  const right = no
    ? compileExpression(no, true)
    : () =>
        new Undefined(
          `the inline if-expression on line ${line} evaluated to false and no else section was defined.`,
        );
  return (scope) => (isTrue(asked(scope)) ? left(scope) : right(scope));
}
