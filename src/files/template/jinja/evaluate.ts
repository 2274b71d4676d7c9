// Values of the syntax tree's expressions in a scope.

import { calculate, signed } from './operators/arithmetic.ts';
import { contains, isEqual, isOrdered } from './operators/compare.ts';
import { Dict } from './values/dict.ts';
import { typeError } from './values/failure.ts';
import { isTrue, iterate } from './values/iterate.ts';
import { element, member } from './members/members.ts';
import type { Meter } from './values/meter.ts';
import { printed } from './values/print.ts';
import type { Scope } from './scope.ts';
import { NO_NAMED } from './values/signature.ts';
import { slice } from './operators/slice.ts';
import type { CallArguments, CompareOperator, Expression } from './syntax/syntax.ts';
import { joinText } from './members/string-search.ts';
import { Callable, Tuple, typeName, Undefined, type Arguments, type Value } from './values/values.ts';

type Of<Kind> = Extract<Expression, { kind: Kind }>;

export function evaluate(node: Expression, scope: Scope): Value {
  switch (node.kind) {
    case 'literal':
      return node.value;
    case 'name':
      return scope.get(node.name);
    case 'attribute':
      return member(evaluate(node.of, scope), node.name, meterOf(scope));
    case 'item':
      return itemOf(node, scope);
    case 'filter':
      return filtered(node, scope);
    case 'test':
      return tested(node, scope);
    case 'compare':
      return compared(node, scope);
    case 'call':
      return called(node, scope);
    case 'condition':
      return chosen(node, scope);
    case 'not':
      return !isTrue(evaluate(node.of, scope));
    case 'and':
    case 'or': {
      const left = evaluate(node.left, scope);
      return isTrue(left) === (node.kind === 'or') ? left : evaluate(node.right, scope);
    }
    case 'arithmetic': {
      const left = evaluate(node.left, scope);
      return calculate(node.operator, left, evaluate(node.right, scope), meterOf(scope));
    }
    case 'concat': {
      const texts = node.parts.map((part) => evaluate(part, scope));
      const meter = meterOf(scope);
      return joinText(
        '',
        texts.map((value) => printed(value, meter)),
        meter,
      );
    }
    case 'negative':
    case 'positive':
      return signed(node.kind === 'negative' ? '-' : '+', evaluate(node.of, scope));
    case 'list':
    case 'tuple': {
      meterOf(scope).hold(node.items.length);
      const values = node.items.map((item) => evaluate(item, scope));
      return node.kind === 'tuple' ? new Tuple(values) : values;
    }
    case 'dict':
      return dictOf(node, scope);
    case 'slice':
      throw typeError('a slice stands alone between its brackets');
  }
}

/** Every operation counts one step. */
export function meterOf({ run }: Scope): Meter {
  const { meter } = run.context;
  meter.step();
  return meter;
}

function dictOf({ pairs }: Of<'dict'>, scope: Scope): Dict {
  const meter = meterOf(scope);
  meter.hold(pairs.length);
  const dict = new Dict();
  for (const { key, value } of pairs) dict.set(evaluate(key, scope), evaluate(value, scope), meter);
  return dict;
}

function itemOf({ of, index }: Of<'item'>, scope: Scope): Value {
  const value = evaluate(of, scope);
  if (index.kind !== 'slice') return element(value, evaluate(index, scope), meterOf(scope));
  const bound = (part: Expression | null): Value => part && evaluate(part, scope);
  const bounds = { start: bound(index.start), stop: bound(index.stop), step: bound(index.step) };
  return slice(value, bounds, meterOf(scope));
}

interface Given {
  args: readonly Value[];
  named: Arguments;
}

const NOTHING: Given = { args: [], named: NO_NAMED };

export function argumentsOf(given: CallArguments, scope: Scope): Given {
  const { meter } = scope.run.context;
  const { positional, spread, spreadNamed } = given;
  const hasNamed = given.named.length > 0 || spreadNamed !== null;
  if (positional.length === 0 && !spread && !hasNamed) return NOTHING;
  const args = positional.map((part) => evaluate(part, scope));
  if (spread)
    for (const value of iterate(evaluate(spread, scope), meter)) {
      meter.hold(1);
      args.push(value);
    }
  if (!hasNamed) return { args, named: NO_NAMED };
  const named = new Map(given.named.map(({ name, value }) => [name, evaluate(value, scope)]));
  if (spreadNamed) addNamed(named, evaluate(spreadNamed, scope), meter);
  return { args, named };
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

function called(node: Of<'call'>, scope: Scope): Value {
  meterOf(scope);
  const value = evaluate(node.of, scope);
  const { args, named } = argumentsOf(node.given, scope);
  return callValue(value, args, named);
}

/** `input`: the text of a filter block; elsewhere the innermost filter has its own. */
export function filtered({ name, of, given }: Of<'filter'>, scope: Scope, input: Value = ''): Value {
  meterOf(scope);
  const value = of?.kind === 'filter' ? filtered(of, scope, input) : of ? evaluate(of, scope) : input;
  const { args, named } = argumentsOf(given, scope);
  return scope.run.context.filter(name, value, args, named);
}

function tested({ name, of, given }: Of<'test'>, scope: Scope): boolean {
  meterOf(scope);
  const value = evaluate(of, scope);
  const { args, named } = argumentsOf(given, scope);
  return scope.run.context.test(name, value, args, named);
}

function compared({ first, rest }: Of<'compare'>, scope: Scope): boolean {
  const meter = meterOf(scope);
  let left = evaluate(first, scope);
  for (const { operator, value } of rest) {
    const right = evaluate(value, scope);
    if (!holds(operator, left, right, meter)) return false;
    left = right;
  }
  return true;
}

function holds(operator: CompareOperator, left: Value, right: Value, meter: Meter): boolean {
  if (operator === '==') return isEqual(left, right, meter);
  if (operator === '!=') return !isEqual(left, right, meter);
  if (operator === 'in') return contains(right, left, meter);
  return operator === 'not in' ? !contains(right, left, meter) : isOrdered(operator, left, right, meter);
}

function chosen({ test, yes, no, line }: Of<'condition'>, scope: Scope): Value {
  if (isTrue(evaluate(test, scope))) return evaluate(yes, scope);
  if (no) return evaluate(no, scope);
  return new Undefined(
    `the inline if-expression on line ${line} evaluated to false and no else section was defined.`,
  );
}
