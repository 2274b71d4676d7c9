// Statements of the syntax tree, which write to their rendering.

import { argumentsOf, callValue, evaluate, filtered, meterOf } from './evaluate.ts';
import { Namespace } from './values/dict.ts';
import { notImplemented, TemplateFailure, typeError, valueError } from './values/failure.ts';
import { checkMemberName } from './members/global-values.ts';
import { isIterable, isTrue, iterate, lengthOf } from './values/iterate.ts';
import { LoopContext, type Recurse } from './values/loop-context.ts';
import { Macro, type MacroShape } from './macro.ts';
import { printed } from './values/print.ts';
import type { Scope } from './scope.ts';
import type { Expression, Parameter, Statement, Target } from './syntax/syntax.ts';
import { typeName, type Value } from './values/values.ts';

/** How a statement ends: `break` and `continue` go up to their loop. */
type Ending = 'done' | 'break' | 'continue';

type Of<Kind> = Extract<Statement, { kind: Kind }>;

export function execute(statements: readonly Statement[], scope: Scope): Ending {
  for (const statement of statements) {
    const ending = executeOne(statement, scope);
    if (ending !== 'done') return ending;
  }
  return 'done';
}

function executeOne(node: Statement, scope: Scope): Ending {
  const { run } = scope;
  switch (node.kind) {
    case 'text':
      meterOf(scope);
      run.write(node.text);
      return 'done';
    case 'output':
      run.write(printed(evaluate(node.value, scope), meterOf(scope)));
      return 'done';
    case 'if': {
      meterOf(scope);
      const branch = node.branches.find(({ test }) => isTrue(evaluate(test, scope)));
      return execute(branch?.body ?? node.otherwise, scope);
    }
    case 'for':
      return executeFor(node, scope);
    case 'set':
      meterOf(scope);
      assign(node.target, scope, evaluate(node.value, scope));
      return 'done';
    case 'set block':
      return captured(node.body, node.filter, scope, (value) => assign(node.target, scope, value));
    case 'filter block':
      return captured(node.body, node.filter, scope, (value) => run.write(printed(value, run.context.meter)));
    case 'with': {
      const inner = scope.inner();
      for (const { target, value } of node.values) assign(target, inner, evaluate(value, scope));
      return execute(node.body, inner);
    }
    case 'macro':
      meterOf(scope);
      scope.set(node.name, new Macro(shapeOf(node.name, node), scope));
      return 'done';
    case 'call block':
      executeCall(node, scope);
      return 'done';
    case 'block':
      return execute(node.body, (node.scoped ? scope : scope.root).inner());
    case 'break':
    case 'continue':
      return node.kind;
    case 'refuse':
      throw notImplemented(node.what);
  }
}

function assign(target: Target, scope: Scope, value: Value): void {
  if (target.kind === 'target name') return scope.set(target.name, value);
  if (target.kind === 'target member') {
    const space = scope.get(target.name);
    if (!(space instanceof Namespace))
      throw new TemplateFailure('TemplateRuntimeError', 'cannot assign attribute on non-namespace object');
    checkMemberName(target.member);
    return space.members.setName(target.member, value);
  }
  const { items } = target;
  if (!isIterable(value)) throw typeError(`cannot unpack non-iterable ${typeName(value)} object`);
  const values: Value[] = [];
  for (const item of iterate(value, scope.run.context.meter)) {
    if (values.length === items.length)
      throw valueError(`too many values to unpack (expected ${items.length})`);
    values.push(item);
  }
  if (values.length < items.length)
    throw valueError(`not enough values to unpack (expected ${items.length}, got ${values.length})`);
  items.forEach((item, at) => assign(item, scope, values[at]!));
}

function executeFor(node: Of<'for'>, scope: Scope): Ending {
  const { run } = scope;
  if (!node.recursive) return executeLoop(node, scope, evaluate(node.over, scope), null, 0);
  const recurse: Recurse = (values, depth) =>
    run.context.meter.nest(() => run.capture(() => executeLoop(node, scope, values, recurse, depth)));
  run.write(recurse(evaluate(node.over, scope), 0));
  return 'done';
}

function executeLoop(
  { target, test, body, otherwise }: Of<'for'>,
  scope: Scope,
  values: Value,
  recurse: Recurse | null,
  depth: number,
): Ending {
  const { meter } = scope.run.context;
  const elements = iterate(values, meter);
  const loop = new LoopContext(
    test ? passing(elements, target, test, scope) : elements,
    () => (test ? null : lengthOf(values, meter)),
    meter,
    recurse,
    depth,
  );
  let isComplete = false;
  while (loop.advance()) {
    meter.step();
    const round = scope.inner();
    assign(target, round, loop.current);
    round.set('loop', loop);
    const ending = execute(body, round);
    // `else` runs if no iteration was completed, like in jinja2.
    if (ending === 'done') isComplete = true;
    if (ending === 'break') break;
  }
  return isComplete || otherwise.length === 0 ? 'done' : execute(otherwise, scope.inner());
}

/** The elements for which a loop's own condition holds. */
function* passing(values: Iterable<Value>, target: Target, test: Expression, scope: Scope): Generator<Value> {
  for (const value of values) {
    const inner = scope.inner();
    assign(target, inner, value);
    if (isTrue(evaluate(test, inner))) yield value;
  }
}

/** A body whose text goes through a filter, whose arguments see what the body sets, to `use`. */
function captured(
  body: readonly Statement[],
  filter: Expression | null,
  scope: Scope,
  use: (value: Value) => void,
): Ending {
  const inner = scope.inner();
  let ending: Ending = 'done';
  const text = scope.run.capture(() => {
    ending = execute(body, inner);
  });
  if (ending === 'done') use(filter?.kind === 'filter' ? filtered(filter, inner, text) : text);
  return ending;
}

function shapeOf(
  name: string | null,
  {
    parameters,
    reads,
    body,
  }: { parameters: readonly Parameter[]; reads: ReadonlySet<string>; body: readonly Statement[] },
): MacroShape {
  return {
    name,
    parameters: parameters.map(({ name: own, default: usual }) => ({
      name: own,
      default: usual && ((scope) => evaluate(usual, scope)),
    })),
    reads,
    run: (scope) => scope.run.capture(() => execute(body, scope)),
  };
}

function executeCall(node: Of<'call block'>, scope: Scope): void {
  const { call } = node;
  const { run } = scope;
  const meter = meterOf(scope);
  const shape = shapeOf(call ? 'caller' : null, node);
  if (!call) return run.write(shape.run(scope.inner()));
  const value = evaluate(call.of, scope);
  const { args, named } = argumentsOf(call.given, scope);
  const withCaller = new Map(named).set('caller', new Macro(shape, scope));
  run.write(printed(callValue(value, args, withCaller), meter));
}
