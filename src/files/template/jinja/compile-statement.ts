// Statements of the syntax tree as functions that write to their rendering.

import {
  callValue,
  compileArguments,
  compileExpression,
  compileFilter,
  type Evaluate,
} from './compile-expression.ts';
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
import { namesRead } from './syntax/walk.ts';

/** How a statement ends: `break` and `continue` go up to their loop. */
export type Ending = 'done' | 'break' | 'continue';
export type Execute = (scope: Scope) => Ending;

type Of<Kind> = Extract<Statement, { kind: Kind }>;

/** `soft`: as of compileExpression. */
export function compileBody(statements: readonly Statement[], soft: boolean): Execute {
  const steps = statements.map((statement) => compileStatement(statement, soft));
  return (scope) => {
    for (const step of steps) {
      const ending = step(scope);
      if (ending !== 'done') return ending;
    }
    return 'done';
  };
}

function compileStatement(node: Statement, soft: boolean): Execute {
  switch (node.kind) {
    case 'text': {
      const { text } = node;
      return done((scope) => scope.run.write(text));
    }
    case 'output': {
      const value = compileExpression(node.value, soft);
      return done((scope) => scope.run.write(printed(value(scope), scope.run.context.meter)));
    }
    case 'if':
      return compileIf(node);
    case 'for':
      return compileFor(node, soft);
    case 'set': {
      const assign = compileTarget(node.target);
      const value = compileExpression(node.value, soft);
      return done((scope) => assign(scope, value(scope)));
    }
    case 'set block':
      return compileSetBlock(node, soft);
    case 'with':
      return compileWith(node, soft);
    case 'macro': {
      const shape = compileMacro(node.name, node.parameters, node.body);
      return done((scope) => scope.set(node.name, new Macro(shape, scope)));
    }
    case 'call block':
      return compileCallBlock(node, soft);
    case 'filter block': {
      const body = compileBody(node.body, false);
      return captured(body, node.filter, soft, (scope, value) =>
        scope.run.write(printed(value, scope.run.context.meter)),
      );
    }
    case 'block': {
      const body = compileBody(node.body, false);
      return (scope) => body((node.scoped ? scope : scope.root).inner());
    }
    case 'break':
    case 'continue':
      return () => node.kind;
    case 'refuse':
      return () => {
        throw notImplemented(node.what);
      };
  }
}

function done(action: (scope: Scope) => void): Execute {
  return (scope) => {
    scope.run.context.meter.step();
    action(scope);
    return 'done';
  };
}

type Assign = (scope: Scope, value: Value) => void;

function compileTarget(target: Target): Assign {
  if (target.kind === 'target name') {
    const { name } = target;
    return (scope, value) => scope.set(name, value);
  }
  if (target.kind === 'target member') {
    const { name, member } = target;
    return (scope, value) => {
      const space = scope.get(name);
      if (!(space instanceof Namespace))
        throw new TemplateFailure('TemplateRuntimeError', 'cannot assign attribute on non-namespace object');
      checkMemberName(member);
      space.members.setName(member, value);
    };
  }
  const parts = target.items.map(compileTarget);
  return (scope, value) => {
    const { meter } = scope.run.context;
    if (!isIterable(value)) throw typeError(`cannot unpack non-iterable ${typeName(value)} object`);
    const values: Value[] = [];
    for (const item of iterate(value, meter)) {
      if (values.length === parts.length)
        throw valueError(`too many values to unpack (expected ${parts.length})`);
      values.push(item);
    }
    if (values.length < parts.length)
      throw valueError(`not enough values to unpack (expected ${parts.length}, got ${values.length})`);
    parts.forEach((assign, at) => assign(scope, values[at]!));
  };
}

function compileIf({ branches, otherwise }: Of<'if'>): Execute {
  const ways = branches.map(({ test, body }) => ({
    test: compileExpression(test, true),
    body: compileBody(body, true),
  }));
  const last = compileBody(otherwise, true);
  return (scope) => {
    scope.run.context.meter.step();
    const way = ways.find(({ test }) => isTrue(test(scope)));
    return (way?.body ?? last)(scope);
  };
}

function compileFor(node: Of<'for'>, soft: boolean): Execute {
  const assign = compileTarget(node.target);
  const over = compileExpression(node.over, soft);
  const test = node.test && compileExpression(node.test, false);
  const body = compileBody(node.body, false);
  const otherwise = node.otherwise.length > 0 ? compileBody(node.otherwise, false) : null;

  function* chosen(scope: Scope, values: Iterable<Value>, asked: Evaluate): Generator<Value> {
    for (const value of values) {
      const inner = scope.inner();
      assign(inner, value);
      if (isTrue(asked(inner))) yield value;
    }
  }

  const runLoop = (scope: Scope, values: Value, recurse: Recurse | null, depth: number): Ending => {
    const { meter } = scope.run.context;
    const elements = iterate(values, meter);
    const loop = new LoopContext(
      test ? chosen(scope, elements, test) : elements,
      () => (test ? null : lengthOf(values, meter)),
      meter,
      recurse,
      depth,
    );
    let isComplete = false;
    while (loop.advance()) {
      meter.step();
      const round = scope.inner();
      assign(round, loop.current);
      round.set('loop', loop);
      const ending = body(round);
      // `else` runs if no iteration was completed, like in jinja2.
      if (ending === 'done') isComplete = true;
      if (ending === 'break') break;
    }
    return isComplete || !otherwise ? 'done' : otherwise(scope.inner());
  };

  if (!node.recursive) return (scope) => runLoop(scope, over(scope), null, 0);
  return (scope) => {
    const { run } = scope;
    const recurse: Recurse = (values, depth) =>
      run.context.meter.nest(() => run.capture(() => runLoop(scope, values, recurse, depth)));
    run.write(recurse(over(scope), 0));
    return 'done';
  };
}

/** A body whose text goes through a filter, whose arguments see what the body sets, to `use`. */
function captured(
  body: Execute,
  filter: Expression | null,
  soft: boolean,
  use: (scope: Scope, value: Value) => void,
): Execute {
  let text: Value = '';
  const change = filter?.kind === 'filter' ? compileFilter(filter, soft, () => text) : null;
  return (scope) => {
    const inner = scope.inner();
    let ending: Ending = 'done';
    const written = scope.run.capture(() => {
      ending = body(inner);
    });
    if (ending !== 'done') return ending;
    text = written;
    const result = change ? change(inner) : written;
    use(scope, result);
    return 'done';
  };
}

function compileSetBlock({ target, filter, body }: Of<'set block'>, soft: boolean): Execute {
  const assign = compileTarget(target);
  return captured(compileBody(body, false), filter, soft, assign);
}

function compileWith({ values, body }: Of<'with'>, soft: boolean): Execute {
  const parts = values.map(({ target, value }) => ({
    assign: compileTarget(target),
    value: compileExpression(value, soft),
  }));
  const inside = compileBody(body, false);
  return (scope) => {
    const inner = scope.inner();
    for (const { assign, value } of parts) assign(inner, value(scope));
    return inside(inner);
  };
}

function compileMacro(
  name: string | null,
  parameters: readonly Parameter[],
  body: readonly Statement[],
): MacroShape {
  const run = compileBody(body, false);
  return {
    name,
    parameters: parameters.map((parameter) => ({
      name: parameter.name,
      default: parameter.default && compileExpression(parameter.default, false),
    })),
    reads: namesRead(body),
    run: (scope) => scope.run.capture(() => run(scope)),
  };
}

function compileCallBlock({ parameters, call, body }: Of<'call block'>, soft: boolean): Execute {
  const shape = compileMacro(call ? 'caller' : null, parameters, body);
  if (!call) return done((scope) => scope.run.write(shape.run(scope.inner())));
  const of = compileExpression(call.of, soft);
  const given = compileArguments(call.given, soft);
  return done((scope) => {
    const value = of(scope);
    const { args, named } = given(scope);
    const withCaller = new Map(named).set('caller', new Macro(shape, scope));
    scope.run.write(printed(callValue(value, args, withCaller), scope.run.context.meter));
  });
}
