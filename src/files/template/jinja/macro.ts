// Macros, and the body of a call block as `caller`.

import { Dict } from './values/dict.ts';
import { typeError } from './values/failure.ts';
import type { Meter } from './values/meter.ts';
import { shownText } from './values/print.ts';
import type { Scope } from './scope.ts';
import { Callable, Tuple, Undefined, type Arguments, type Value } from './values/values.ts';

/** A macro without the scope that it is defined in. */
export interface MacroShape {
  /** null: a call block's. */
  name: string | null;
  parameters: readonly { name: string; default: ((scope: Scope) => Value) | null }[];
  /** Which of `caller`, `kwargs` and `varargs` its body reads. */
  reads: ReadonlySet<string>;
  /** Runs the body in a scope that has its parameters; gives what it wrote. */
  run(scope: Scope): string;
}

export class Macro extends Callable {
  readonly typeName = 'Macro';
  readonly #shape: MacroShape;
  readonly #scope: Scope;

  constructor(shape: MacroShape, scope: Scope) {
    super();
    this.#shape = shape;
    this.#scope = scope;
  }

  get shown(): string {
    const { name } = this.#shape;
    return `<Macro ${name === null ? 'anonymous' : shownText(name)}>`;
  }

  call(args: readonly Value[], named: Arguments): Value {
    const { meter } = this.#scope.run.context;
    meter.step();
    return meter.nest(() => this.#shape.run(this.#bound(args, new Map(named), meter)));
  }

  #bound(args: readonly Value[], named: Map<string, Value>, meter: Meter): Scope {
    const { parameters, reads } = this.#shape;
    const scope = this.#scope.inner();
    const given = parameters.map(({ name }, at): Value | undefined => {
      if (at < args.length) return args[at];
      const value = named.get(name);
      named.delete(name);
      return value;
    });
    if (reads.has('caller') && !parameters.some(({ name }) => name === 'caller')) {
      scope.set('caller', named.has('caller') ? named.get('caller')! : new Undefined('No caller defined'));
      named.delete('caller');
    }
    this.#takeMore(args, named, scope, meter);
    parameters.forEach(({ name, default: usual }, at) => {
      const missing = (): Value =>
        usual ? usual(scope) : new Undefined(`parameter ${shownText(name)} was not provided`);
      const value = given[at];
      scope.set(name, value === undefined ? missing() : value);
    });
    return scope;
  }

  /** Arguments beyond the parameters. */
  #takeMore(args: readonly Value[], named: Map<string, Value>, scope: Scope, meter: Meter): void {
    const { name, parameters, reads } = this.#shape;
    if (reads.has('kwargs')) {
      const rest = new Dict();
      for (const [key, value] of named) rest.set(key, value, meter);
      scope.set('kwargs', rest);
    } else {
      const [unknown] = named.keys();
      if (unknown !== undefined)
        throw typeError(`macro ${shownText(name ?? '')} takes no keyword argument ${shownText(unknown)}`);
    }
    if (reads.has('varargs')) scope.set('varargs', new Tuple(args.slice(parameters.length)));
    else if (args.length > parameters.length)
      throw typeError(`macro ${shownText(name ?? '')} takes not more than ${parameters.length} argument(s)`);
  }
}
